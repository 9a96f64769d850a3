"""tf.math.cumulative_logsumexp: NaN is counted as a number."""

import tensorflow

x = tensorflow.constant([1.0, float("nan"), 2.0])
observed = tensorflow.math.cumulative_logsumexp(x).numpy()
print("expected [1. nan nan] observed", observed, "reduce_logsumexp", tensorflow.math.reduce_logsumexp(x).numpy())
raise SystemExit(int(bool((observed[1:] == observed[1:]).any())))
