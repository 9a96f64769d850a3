"""The hash functions that Keras documents for its preprocessing layers, on what numbers look like in decimal.

FarmHash64's fingerprint (of at most 32 bytes, more than any integer has digits), SipHash-2-4 with a key of two
numbers, and the fingerprint of two fingerprints. Arithmetic is modulo 2**64.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_CROSS = 0xC6A4A7935BD1E995


def _rotated(value: int, right: int) -> int:
    return ((value >> right) | (value << (64 - right))) & _MASK


def _shift_mix(value: int) -> int:
    return value ^ (value >> 47)


def _word(text: bytes, start: int, size: int = 8) -> int:
    return int.from_bytes(text[start : start + size], "little")


def _mixed(u: int, v: int, mul: int) -> int:
    a = _shift_mix(((u ^ v) * mul) & _MASK)
    b = _shift_mix(((v ^ a) * mul) & _MASK)
    return (b * mul) & _MASK


def farm_fingerprint(text: bytes) -> int:
    """FarmHash64 of at most 32 bytes."""
    size = len(text)
    if size > 32:
        raise ValueError(f"expected at most 32 bytes, received {size}")
    mul = (_K2 + 2 * size) & _MASK
    if size > 16:
        a, b = (_word(text, 0) * _K1) & _MASK, _word(text, 8)
        c, d = (_word(text, size - 8) * mul) & _MASK, (_word(text, size - 16) * _K2) & _MASK
        first = (_rotated((a + b) & _MASK, 43) + _rotated(c, 30) + d) & _MASK
        return _mixed(first, (a + _rotated((b + _K2) & _MASK, 18) + c) & _MASK, mul)
    if size >= 8:
        a, b = (_word(text, 0) + _K2) & _MASK, _word(text, size - 8)
        c = (_rotated(b, 37) * mul + a) & _MASK
        return _mixed(c, ((_rotated(a, 25) + b) * mul) & _MASK, mul)
    if size >= 4:
        return _mixed((size + (_word(text, 0, 4) << 3)) & _MASK, _word(text, size - 4, 4), mul)
    if not size:
        return _K2
    y = text[0] + (text[size >> 1] << 8)
    z = size + (text[-1] << 2)
    return (_shift_mix((y * _K2 ^ z * _K0) & _MASK) * _K2) & _MASK


def sip_hash(text: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4."""
    k0, k1 = (part & _MASK for part in key)
    state = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = text + bytes(-(len(text) + 1) % 8) + bytes([len(text) & 0xFF])
    for start in range(0, len(padded), 8):
        word = _word(padded, start)
        state[3] ^= word
        _sip_rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _sip_rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_rounds(state: list[int], count: int) -> None:
    for _ in range(count):
        for left, right, turn in ((0, 1, 13), (2, 3, 16), (0, 3, 21), (2, 1, 17)):
            state[left] = (state[left] + state[right]) & _MASK
            state[right] = _rotated(state[right], 64 - turn) ^ state[left]
            if (left, right) in ((0, 1), (2, 1)):
                state[left] = _rotated(state[left], 32)


def joint_fingerprint(first: int, second: int) -> int:
    """The fingerprint of two, of which the order counts."""
    result = first ^ _CROSS
    result ^= (_shift_mix((second * _CROSS) & _MASK) * _CROSS) & _MASK
    result = (result * _CROSS) & _MASK
    result = (_shift_mix(result) * _CROSS) & _MASK
    return _shift_mix(result)
