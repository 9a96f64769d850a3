"""Where cases come from: models of users, seed models, inputs."""
