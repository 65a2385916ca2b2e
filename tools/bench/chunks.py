"""The chunks of the stores that are large by their number: CHUNK bytes that begin with the chunk's number,
counted shard by shard, row-major in each."""
import struct

CHUNK = 64


def raw_chunk(number):
    return struct.pack("<Q", number) * (CHUNK // 8)


def zstd_chunk(number):
    """CHUNK bytes, the number and zeros: a block of some of them as they are, then one of the rest."""
    stored = 8 + number * 7919 % 48
    data = struct.pack("<Q", number).ljust(stored, b"\0")
    blocks = (stored << 3).to_bytes(3, "little") + data
    blocks += ((CHUNK - stored) << 3 | 0b011).to_bytes(3, "little") + b"\0"  # the last: one byte repeated
    return b"\x28\xb5\x2f\xfd\x20" + bytes([CHUNK]) + blocks
