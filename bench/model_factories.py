"""Small models of the kinds that people run, with seeded random weights: what ``real_models.py`` compares.

Each function returns what ``tensorparity compare model_factories:NAME`` takes: a Keras model, or a module of torch's
with example inputs. Configurations are small, so that a comparison costs seconds; structure and code are the real ones.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

VOCABULARY, LENGTH, WIDTH = 120, 12, 48

_TEXT = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 64,
}


def _tokens(*names: str, length: int = LENGTH) -> dict[str, Any]:
    import torch

    found = {}
    for name in names:
        mask = "mask" in name
        found[name] = torch.ones(2, length, dtype=torch.int64) if mask else torch.randint(3, VOCABULARY, (2, length))
    return found


def _made(name: str, config: str, settings: dict[str, Any], examples: Any) -> tuple[Any, Any]:
    """A model of ``transformers``, from its configuration."""
    import torch
    import transformers

    torch.manual_seed(0)
    return getattr(transformers, name)(getattr(transformers, config)(**settings)), examples()


# Hugging Face transformers: text


def bert() -> Any:
    return _made("BertModel", "BertConfig", _TEXT, lambda: _tokens("input_ids", "attention_mask", "token_type_ids"))


def bert_any_length() -> Any:
    """The length of the sequence may vary, too."""
    import torch

    module, examples = _made("BertModel", "BertConfig", _TEXT, lambda: _tokens("input_ids", "attention_mask"))
    free = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    return module, examples, {"input_ids": free, "attention_mask": free}


def bert_classifier() -> Any:
    settings = {**_TEXT, "num_labels": 5}
    return _made("BertForSequenceClassification", "BertConfig", settings, lambda: _tokens("input_ids"))


def distilbert() -> Any:
    settings = {"vocab_size": VOCABULARY, "dim": WIDTH, "n_layers": 2, "n_heads": 4, "hidden_dim": 96}
    return _made("DistilBertModel", "DistilBertConfig", settings, lambda: _tokens("input_ids", "attention_mask"))


def roberta() -> Any:
    return _made("RobertaModel", "RobertaConfig", _TEXT, lambda: _tokens("input_ids", "attention_mask"))


def albert() -> Any:
    """Its layers share their weights."""
    settings = {**_TEXT, "embedding_size": 24}
    return _made("AlbertModel", "AlbertConfig", settings, lambda: _tokens("input_ids"))


def electra() -> Any:
    settings = {**_TEXT, "embedding_size": 24}
    return _made("ElectraForPreTraining", "ElectraConfig", settings, lambda: _tokens("input_ids"))


def gpt2() -> Any:
    """Tied weights; the answer has a cache of keys and values."""
    settings = {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": 2, "n_head": 4, "n_positions": 64}
    return _made("GPT2LMHeadModel", "GPT2Config", settings, lambda: _tokens("input_ids", "attention_mask"))


def llama() -> Any:
    settings = {**_TEXT, "num_key_value_heads": 2}
    return _made("LlamaForCausalLM", "LlamaConfig", settings, lambda: _tokens("input_ids", "attention_mask"))


def llama_next_token() -> Any:
    """One step of generation: a token and the cache of those before it."""
    module, examples = llama()
    cache = module.eval()(**examples).past_key_values
    return module, {"input_ids": examples["input_ids"][:, :1], "past_key_values": cache}


def qwen() -> Any:
    settings = {**_TEXT, "num_key_value_heads": 2}
    return _made("Qwen2ForCausalLM", "Qwen2Config", settings, lambda: _tokens("input_ids"))


def mixtral(**more: Any) -> Any:
    """A mixture of experts."""
    settings = {**_TEXT, "num_key_value_heads": 2, "num_local_experts": 4, **more}
    return _made("MixtralForCausalLM", "MixtralConfig", settings, lambda: _tokens("input_ids"))


def mixtral_eager_experts() -> Any:
    """Without the operators that transformers registers for its experts."""
    return mixtral(experts_implementation="eager")


def mamba() -> Any:
    settings = {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "state_size": 8}
    return _made("MambaForCausalLM", "MambaConfig", settings, lambda: _tokens("input_ids"))


def t5(**more: Any) -> Any:
    settings = {"vocab_size": VOCABULARY, "d_model": WIDTH, "d_kv": 12, "d_ff": 96, "num_layers": 2, "num_heads": 4}
    names = ("input_ids", "attention_mask", "decoder_input_ids")
    return _made("T5ForConditionalGeneration", "T5Config", {**settings, **more}, lambda: _tokens(*names))


def t5_eager_attention() -> Any:
    return t5(attn_implementation="eager")


def bart() -> Any:
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    widths = {"d_model": WIDTH, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "max_position_embeddings": 64}
    settings = {"vocab_size": VOCABULARY, "encoder_layers": 1, "decoder_layers": 1, **heads, **widths}
    return _made("BartModel", "BartConfig", settings, lambda: _tokens("input_ids", "decoder_input_ids"))


# Hugging Face transformers: images and sound


def _image(size: int = 32) -> dict[str, Any]:
    import torch

    return {"pixel_values": torch.randn(2, 3, size, size)}


_VISION = {
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "image_size": 32,
    "patch_size": 8,
}


def vit() -> Any:
    return _made("ViTModel", "ViTConfig", _VISION, _image)


def dinov2() -> Any:
    return _made("Dinov2Model", "Dinov2Config", _VISION, _image)


def swin() -> Any:
    settings = {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4]}
    return _made("SwinModel", "SwinConfig", {**settings, "window_size": 4}, _image)


def convnext() -> Any:
    settings = {"hidden_sizes": [16, 24, 32, 48], "depths": [1, 1, 1, 1]}
    return _made("ConvNextModel", "ConvNextConfig", settings, lambda: _image(64))


def clip() -> Any:
    """Two inputs of different kinds, a matrix of both as the answer: no batch axis in common."""
    text = {**_TEXT, "eos_token_id": 2}
    settings = {"text_config": text, "vision_config": _VISION, "projection_dim": 24}
    return _made("CLIPModel", "CLIPConfig", settings, lambda: {**_tokens("input_ids", "attention_mask"), **_image()})


def segformer() -> Any:
    settings = {"hidden_sizes": [16, 16, 32, 32], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32, "num_labels": 4}
    heads = {"num_attention_heads": [1, 2, 2, 4]}
    examples = lambda: _image(64)  # noqa: E731
    return _made("SegformerForSemanticSegmentation", "SegformerConfig", {**settings, **heads}, examples)


def whisper() -> Any:
    import torch

    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    widths = {"d_model": WIDTH, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "num_mel_bins": 16}
    lengths = {"max_source_positions": 30, "max_target_positions": 30}
    marks = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    settings = {
        "vocab_size": VOCABULARY,
        "encoder_layers": 1,
        "decoder_layers": 1,
        **heads,
        **widths,
        **lengths,
        **marks,
    }
    return _made(
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        settings,
        lambda: {"input_features": torch.randn(2, 16, 60), **_tokens("decoder_input_ids")},
    )


def wav2vec2() -> Any:
    import torch

    convolutions = {"conv_dim": [16, 16, 16], "conv_kernel": [10, 3, 3], "conv_stride": [5, 2, 2]}
    settings = {**_TEXT, **convolutions, "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16}
    groups = {"num_conv_pos_embedding_groups": 4}
    return _made(
        "Wav2Vec2Model", "Wav2Vec2Config", {**settings, **groups}, lambda: {"input_values": torch.randn(2, 800)}
    )


# Plain torch


def resnet18() -> Any:
    """The usual ResNet: basic blocks, batch normalization, a fully connected end."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.one = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.norm_one = nn.BatchNorm2d(after)
            self.two = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.norm_two = nn.BatchNorm2d(after)
            straight = stride == 1 and before == after
            aside = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            self.aside = nn.Identity() if straight else aside

        def forward(self, x: Any) -> Any:
            inner = self.norm_two(self.two(torch.relu(self.norm_one(self.one(x)))))
            return torch.relu(inner + self.aside(x))

    torch.manual_seed(0)
    stem = [nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    widths = [(16, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)]
    return nn.Sequential(*stem, *(Block(*width) for width in widths), *end), torch.randn(2, 3, 64, 64)


def efficientnet() -> Any:
    """Inverted bottlenecks with squeeze and excitation, SiLU, depthwise convolutions."""
    import torch
    from torch import nn

    class Squeeze(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.down, self.up = nn.Conv2d(width, width // 4, 1), nn.Conv2d(width // 4, width, 1)

        def forward(self, x: Any) -> Any:
            mean = nn.functional.adaptive_avg_pool2d(x, 1)
            return x * torch.sigmoid(self.up(nn.functional.silu(self.down(mean))))

    class Bottleneck(nn.Module):
        def __init__(self, before: int, after: int, stride: int, kernel: int) -> None:
            super().__init__()
            wide = before * 4
            self.straight = stride == 1 and before == after
            self.body = nn.Sequential(
                nn.Conv2d(before, wide, 1, bias=False),
                nn.BatchNorm2d(wide),
                nn.SiLU(),
                nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False),
                nn.BatchNorm2d(wide),
                nn.SiLU(),
                Squeeze(wide),
                nn.Conv2d(wide, after, 1, bias=False),
                nn.BatchNorm2d(after),
            )

        def forward(self, x: Any) -> Any:
            return x + self.body(x) if self.straight else self.body(x)

    torch.manual_seed(0)
    stages = [(16, 16, 1, 3), (16, 24, 2, 3), (24, 24, 1, 3), (24, 40, 2, 5), (40, 40, 1, 5), (40, 64, 2, 3)]
    stem = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.SiLU()]
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, 10)]
    return nn.Sequential(*stem, *(Bottleneck(*stage) for stage in stages), *end), torch.randn(2, 3, 64, 64)


def diffusion_unet() -> Any:
    """A U-Net of a diffusion model: noise and a time step in, noise out; the answer is a dataclass."""
    import torch
    from torch import nn

    @dataclass
    class Denoised:
        sample: Any
        bottleneck: Any

    class Residual(nn.Module):
        def __init__(self, before: int, after: int) -> None:
            super().__init__()
            self.norm, self.conv = nn.GroupNorm(4, before), nn.Conv2d(before, after, 3, padding=1)
            self.time, self.aside = nn.Linear(32, after), nn.Conv2d(before, after, 1)

        def forward(self, x: Any, time: Any) -> Any:
            inner = self.conv(nn.functional.silu(self.norm(x))) + self.time(time)[:, :, None, None]
            return nn.functional.silu(inner) + self.aside(x)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 16, 3, padding=1)
            self.down, self.middle, self.up = Residual(16, 32), Residual(32, 32), Residual(48, 16)
            self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
            self.time = nn.Sequential(nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 32))
            self.last = nn.Conv2d(16, 3, 3, padding=1)

        def forward(self, sample: Any, timestep: Any) -> Any:
            rates = torch.exp(torch.arange(16) * (-math.log(10000.0) / 16))
            angles = timestep[:, None].float() * rates[None]
            time = self.time(torch.cat([angles.sin(), angles.cos()], -1))
            first = self.first(sample)
            inner = self.middle(self.down(nn.functional.avg_pool2d(first, 2), time), time)
            flat = inner.flatten(2).transpose(1, 2)
            inner = inner + self.attention(flat, flat, flat)[0].transpose(1, 2).reshape(inner.shape)
            wide = nn.functional.interpolate(inner, scale_factor=2.0, mode="nearest")
            return Denoised(self.last(self.up(torch.cat([wide, first], 1), time)), inner)

    torch.manual_seed(0)
    return UNet(), {"sample": torch.randn(2, 3, 16, 16), "timestep": torch.randint(0, 1000, (2,))}


def tabular() -> Any:
    """Numbers and categories of a table: dictionaries in and out."""
    import torch
    from torch import nn

    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList([nn.Embedding(size, 4) for size in (7, 12, 31)])
            self.norm = nn.BatchNorm1d(9)
            self.body = nn.Sequential(nn.Linear(21, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 16), nn.GELU())
            self.price, self.kind = nn.Linear(16, 1), nn.Linear(16, 3)

        def forward(self, row: Any) -> Any:
            looked_up = [table(row["categories"][:, place]) for place, table in enumerate(self.tables)]
            inner = self.body(torch.cat([self.norm(row["numbers"]), *looked_up], 1))
            return {"price": self.price(inner), "kind": torch.softmax(self.kind(inner), -1)}

    torch.manual_seed(0)
    row = {"numbers": torch.randn(2, 9), "categories": torch.stack([torch.zeros(3), torch.tensor([6, 6, 6])]).long()}
    return Table(), (row,)


def lstm_without_batch() -> Any:
    """A sequence alone, without a batch axis: one vector comes out."""
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells, self.end = nn.LSTM(6, 16, num_layers=2), nn.Linear(16, 4)

        def forward(self, sequence: Any) -> Any:
            states, _ = self.cells(sequence)
            return torch.log_softmax(self.end(states[-1]), -1)

    torch.manual_seed(0)
    return Reader(), torch.randn(10, 6)


def running_mean() -> Any:
    """A buffer that changes with every call."""
    import torch
    from torch import nn

    class Centred(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(8))
            self.end = nn.Linear(8, 3)

        def forward(self, x: Any) -> Any:
            self.mean.mul_(0.9).add_(0.1 * x.mean(0))
            return self.end(x - self.mean)

    torch.manual_seed(0)
    return Centred(), torch.randn(4, 8)


def two_vectors() -> Any:
    """Inputs of different lengths, and a number as the answer: nothing here is a batch."""
    import torch
    from torch import nn

    class Attending(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.queries, self.keys = nn.Linear(4, 8), nn.Linear(4, 8)

        def forward(self, left: Any, right: Any, scale: Any) -> Any:
            scores = self.queries(left) @ self.keys(right).T * scale
            return torch.softmax(scores, -1).max()

    torch.manual_seed(0)
    return Attending(), {"left": torch.randn(3, 4), "right": torch.randn(5, 4), "scale": torch.tensor(0.5)}


# Models of other packages


def diffusers_unet() -> Any:
    import torch
    from diffusers import UNet2DModel

    torch.manual_seed(0)
    blocks = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}
    module = UNet2DModel(
        sample_size=16,
        block_out_channels=(16, 32),
        layers_per_block=1,
        norm_num_groups=4,
        attention_head_dim=8,
        **blocks,
    )
    return module, {"sample": torch.randn(2, 3, 16, 16), "timestep": torch.tensor([3, 500])}


def timm_mobilenet() -> Any:
    import timm
    import torch

    torch.manual_seed(0)
    return timm.create_model("mobilenetv3_small_050", num_classes=10), torch.randn(2, 3, 64, 64)


def perceptron() -> Any:
    import torch
    from torch import nn

    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5)), torch.randn(
        4, 16
    )


# Keras


def kerashub_transformer() -> Any:
    """Layers of KerasHub in a Keras model of the user's."""
    import keras
    import keras_hub

    keras.utils.set_random_seed(0)
    tokens = keras.Input((LENGTH,), dtype="int32", name="tokens")
    inner = keras_hub.layers.TokenAndPositionEmbedding(VOCABULARY, LENGTH, 32)(tokens)
    inner = keras_hub.layers.TransformerEncoder(64, 4)(inner)
    inner = keras_hub.layers.TransformerDecoder(64, 4)(inner)
    return keras.Model(tokens, keras.layers.Dense(5)(keras_hub.layers.RotaryEmbedding()(inner)))


def kerashub_bert() -> Any:
    import keras
    import keras_hub

    keras.utils.set_random_seed(0)
    sizes = {"num_layers": 2, "num_heads": 4, "hidden_dim": 32, "intermediate_dim": 64, "max_sequence_length": LENGTH}
    return keras_hub.models.BertBackbone(vocabulary_size=VOCABULARY, **sizes)
