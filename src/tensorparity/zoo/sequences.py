"""Networks for sequences: SimpleRNN, LSTM, GRU, and a small Transformer encoder."""

from __future__ import annotations

from ..core.graph import GraphBuilder, LayerGraph, Ref
from .series import DIGIT_LEVELS, DIGIT_PIXELS, IMDB_LENGTH, IMDB_WORDS, PRICE_DAYS, SINE_STEPS

_WIDTH = 32  # of a token inside of the Transformer
_HEADS = 4


def simple_rnn() -> LayerGraph:
    """Two SimpleRNN layers that continue a wave."""
    build = GraphBuilder("simplernn")
    x = build.add("SimpleRNN", build.input("series", (SINE_STEPS, 1)), name="rnn1", units=24, return_sequences=True)
    x = build.add("SimpleRNN", x, name="rnn2", units=24)
    return build.build(build.add("Dense", x, name="next", units=1))


def gru() -> LayerGraph:
    """Two GRU layers that continue a price."""
    build = GraphBuilder("gru")
    x = build.add("GRU", build.input("series", (PRICE_DAYS, 1)), name="gru1", units=24, return_sequences=True)
    x = build.add("GRU", x, name="gru2", units=24)
    return build.build(build.add("Dense", x, name="next", units=1))


def lstm() -> LayerGraph:
    """Two LSTM layers that read a digit row by row."""
    build = GraphBuilder("lstm")
    x = build.add("LSTM", build.input("rows", (8, 8)), name="lstm1", units=48, return_sequences=True)
    x = build.add("Dropout", build.add("LSTM", x, name="lstm2", units=48), name="dropout", rate=0.2)
    return _classifier_head(build, x)


def lstm_imdb() -> LayerGraph:
    """Keras' example for the reviews of IMDB: an Embedding, an LSTM, the probability that the review is kind."""
    build = GraphBuilder("lstm-imdb")
    x = build.input("tokens", (IMDB_LENGTH,), dtype="int32")
    x = build.add("Embedding", x, name="words", input_dim=IMDB_WORDS, output_dim=32)
    x = build.add("LSTM", x, name="lstm", units=32)
    return build.build(build.add("Dense", x, name="kind", units=1, activation="sigmoid"))


def simple_rnn_imdb() -> LayerGraph:
    """Audee's SimpleRNN for the reviews of IMDB: five layers with the input, one of them recurrent; two classes."""
    return _five_layers("simplernn-imdb", "SimpleRNN")


def lstm5_imdb() -> LayerGraph:
    """Audee's LSTM, built as its SimpleRNN."""
    return _five_layers("lstm5-imdb", "LSTM")


def gru_imdb() -> LayerGraph:
    """Audee's GRU, built as its SimpleRNN."""
    return _five_layers("gru-imdb", "GRU")


def _five_layers(name: str, recurrent: str) -> LayerGraph:
    """An Embedding, the recurrent layer, two dense ones and a softmax."""
    build = GraphBuilder(name)
    x = build.input("tokens", (IMDB_LENGTH,), dtype="int32")
    x = build.add("Embedding", x, name="words", input_dim=IMDB_WORDS, output_dim=32)
    x = build.add(recurrent, x, name="recurrent", units=48)
    x = build.add("Dense", x, name="hidden", units=16, activation="relu")
    x = build.add("Dense", x, name="logits", units=2)
    return build.build(build.add("Softmax", x, name="predictions"))


def transformer() -> LayerGraph:
    """A Transformer encoder of two blocks that reads a digit pixel by pixel; positions are an input, as in BERT."""
    build = GraphBuilder("transformer")
    tokens = build.input("tokens", (DIGIT_PIXELS,), dtype="int32")
    positions = build.input("positions", (DIGIT_PIXELS,), dtype="int32")
    x = build.add(
        "Add",
        build.add("Embedding", tokens, name="token_embedding", input_dim=DIGIT_LEVELS, output_dim=_WIDTH),
        build.add("Embedding", positions, name="position_embedding", input_dim=DIGIT_PIXELS, output_dim=_WIDTH),
        name="embedded",
    )
    for index in (1, 2):
        x = _encoder_block(build, x, f"block{index}")
    return _classifier_head(build, build.add("GlobalAveragePooling1D", x, name="average"))


def _encoder_block(build: GraphBuilder, x: Ref, name: str) -> Ref:
    """Attention, then a dense layer per token; a sum and a normalization after each, as in the original."""
    y = build.add("MultiHeadAttention", x, x, name=f"{name}_attention", num_heads=_HEADS, key_dim=_WIDTH // _HEADS)
    x = _residual_sum(build, x, y, f"{name}_1")
    y = build.add("Dense", x, name=f"{name}_widen", units=2 * _WIDTH, activation="relu")
    y = build.add("Dense", y, name=f"{name}_narrow", units=_WIDTH)
    return _residual_sum(build, x, y, f"{name}_2")


def _residual_sum(build: GraphBuilder, x: Ref, y: Ref, name: str) -> Ref:
    y = build.add("Dropout", y, name=f"{name}_dropout", rate=0.1)
    return build.add("LayerNormalization", build.add("Add", x, y, name=f"{name}_add"), name=f"{name}_norm")


def _classifier_head(build: GraphBuilder, x: Ref) -> LayerGraph:
    x = build.add("Dense", x, name="logits", units=10)
    return build.build(build.add("Softmax", x, name="predictions"))
