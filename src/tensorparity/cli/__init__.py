"""The command line: one thin file per command, nothing imported before it is needed."""
