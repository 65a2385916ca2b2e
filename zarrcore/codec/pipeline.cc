#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "zarrcore/base/waiting.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

// Returns an upper bound for the output of a compressor with an input of `size` bytes, even if the
// input is incompressible.
uint64_t BoundOfCompressed(uint64_t size) { return size + size / 8 + (uint64_t{64} << 10); }

// Refuses chains in which the dtype of numcodecs.delta and the codec "bytes" have different byte
// orders. numcodecs.delta interprets its input in the byte order of its own dtype, so zarr-python
// does not read back the values that it wrote with such a chain.
Result<void> CheckByteOrderOfDelta(std::span<const CodecSpec> codecs) {
  for (size_t i = 0; i + 1 < codecs.size(); ++i) {
    if (codecs[i].name != "numcodecs.delta" || codecs[i + 1].name != "bytes") continue;
    const Json& configuration = codecs[i].configuration;
    const char* const member = MemberOrNull(configuration, "astype").is_null() ? "dtype" : "astype";
    const Json& type = MemberOrNull(configuration, member);
    const Json& endian = MemberOrNull(codecs[i + 1].configuration, "endian");
    const auto* text = type.get_ptr<const std::string*>();
    if (text == nullptr || text->ends_with("i1") || text->ends_with("u1")) continue;
    if (text->starts_with('>') != (endian == "big")) {
      return Fail(ErrorCode::kUnsupported,
                  "codec 'numcodecs.delta': {} is {}, and the codec 'bytes' has another byte order",
                  member, Excerpt(type));
    }
  }
  return {};
}

// Fails if the request for the chunk was abandoned. Called before each codec runs.
Result<void> CheckIfWaitedFor() {
  if (IsAbandoned())
    return Fail(ErrorCode::kWouldBlock, "no request waits for this chunk any more");
  return {};
}

}  // namespace

void ShrinkToFit(Bytes& bytes) {
  // Copying to a smaller allocation is worthwhile if more than 1/kWorthACopy of the size is unused.
  constexpr size_t kWorthACopy = 8;
  if (bytes.capacity() - bytes.size() > bytes.size() / kWorthACopy) bytes.shrink_to_fit();
}

Result<void> CheckSize(std::string_view codec, BytesView bytes, const DataType& type,
                       const std::vector<uint64_t>& shape, ErrorCode wrong_size) {
  const std::optional<uint64_t> size = CheckedProduct(shape, type.item_size);
  if (!size) return Fail(ErrorCode::kTooLarge, "codec '{}': size of a chunk overflows", codec);
  if (bytes.size() != *size) {
    return Fail(wrong_size, "codec '{}': expected {} bytes, found {}", codec, *size, bytes.size());
  }
  return {};
}

Result<Pipeline> Pipeline::Make(std::span<const CodecSpec> codecs, const ChunkSpec& chunk) {
  if (const auto checked = CheckByteOrderOfDelta(codecs); !checked) return Fail(checked);
  Pipeline pipeline;
  ChunkSpec spec = chunk;
  for (const CodecSpec& codec : codecs) {
    const CodecFactory* factory = FindCodec(codec.name);
    if (factory == nullptr) {
      return Fail(ErrorCode::kUnsupported, "codec '{}' is not known", codec.name);
    }
    const bool is_bytes = pipeline.array_to_bytes_ != nullptr;
    if (const auto* make = std::get_if<BytesToBytesFactory>(factory);
        (make != nullptr) != is_bytes) {
      return Fail(ErrorCode::kDamaged, "codec '{}' is {} the array -> bytes codec", codec.name,
                  is_bytes ? "after" : "before");
    } else if (make != nullptr) {
      auto made = (*make)(codec);
      if (!made) return Fail(made);
      pipeline.bytes_to_bytes_.push_back(std::move(*made));
    } else if (const auto* to_array = std::get_if<ArrayToArrayFactory>(factory)) {
      auto made = (*to_array)(codec, spec);
      if (!made) return Fail(made);
      pipeline.specs_.push_back(spec);
      spec = (*made)->EncodedSpec(spec);
      pipeline.array_to_array_.push_back(std::move(*made));
    } else {
      auto made = std::get<ArrayToBytesFactory>(*factory)(codec, spec);
      if (!made) return Fail(made);
      pipeline.specs_.push_back(spec);
      pipeline.array_to_bytes_ = std::move(*made);
    }
  }
  if (pipeline.array_to_bytes_ == nullptr) {
    return Fail(ErrorCode::kDamaged, "a chain of {} codecs has no array -> bytes codec",
                codecs.size());
  }

  // Larger chunks are refused, because file sizes are signed, and adding the constant overhead of
  // codecs must not overflow.
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const ChunkSpec& step : pipeline.specs_) {
    const std::optional<uint64_t> size = step.size();
    if (!size || *size > kLargest) {
      return Fail(ErrorCode::kTooLarge, "size of a chunk of {} axes overflows", chunk.shape.size());
    }
    if (&step == &pipeline.specs_.front()) pipeline.decoded_size_ = *size;
    pipeline.largest_size_ = std::max(pipeline.largest_size_, *size);
  }
  std::optional<uint64_t> known = pipeline.array_to_bytes_->EncodedSize(pipeline.specs_.back());
  pipeline.most_as_bytes_ =
      known ? *known : pipeline.array_to_bytes_->MaxEncodedSize(pipeline.specs_.back());
  for (const auto& codec : pipeline.bytes_to_bytes_) {
    pipeline.sizes_.push_back(known);
    if (known) known = codec->EncodedSize(*known);
  }
  pipeline.encoded_size_ = known;
  return pipeline;
}

uint64_t Pipeline::max_encoded_size() const {
  if (encoded_size_) return *encoded_size_;
  uint64_t size = most_as_bytes_;
  for (size_t i = 0; i < bytes_to_bytes_.size(); ++i) {
    size = sizes_[i] ? BoundOfCompressed(*sizes_[i]) : BoundOfCompressed(size);
  }
  return size;
}

uint64_t Pipeline::MemoryToDecode(uint64_t encoded) const {
  uint64_t most = encoded;
  uint64_t input = encoded;
  for (size_t i = bytes_to_bytes_.size(); i-- > 0;) {
    const uint64_t limit = LimitOf(i);
    most = std::max(most, bytes_to_bytes_[i]->MemoryToDecode(input, limit));
    input = limit;
  }
  most = std::max(most, array_to_bytes_->MemoryToDecode(input, specs_.back()));
  for (size_t i = array_to_array_.size(); i-- > 0;) {
    input = specs_[i + 1].size().value_or(0);
    most = std::max(most, array_to_array_[i]->MemoryToDecode(input, specs_[i]));
  }
  return most;
}

Result<Bytes> Pipeline::Decode(Bytes encoded) const try {
  if (largest_size_ > kMaxChunkBytes) {
    return Fail(ErrorCode::kTooLarge, "a chunk of {} bytes exceeds the limit of {} for decoding",
                largest_size_, kMaxChunkBytes);
  }
  if (encoded_size_ && encoded.size() != *encoded_size_) {
    return Fail(ErrorCode::kDamaged, "encoded chunk: expected {} bytes, found {}", *encoded_size_,
                encoded.size());
  }
  Result<Bytes> bytes = std::move(encoded);
  for (size_t i = bytes_to_bytes_.size(); i-- > 0;) {
    if (const auto go_on = CheckIfWaitedFor(); !go_on) return Fail(go_on);
    bytes = bytes_to_bytes_[i]->DecodeInPlace(std::move(*bytes), LimitOf(i));
    if (!bytes) return bytes;
    if (sizes_[i] && bytes->size() != *sizes_[i]) {
      return Fail(ErrorCode::kDamaged, "encoded chunk decodes to {} bytes, expected {}",
                  bytes->size(), *sizes_[i]);
    }
  }
  if (const auto go_on = CheckIfWaitedFor(); !go_on) return Fail(go_on);
  Result<Bytes> array = array_to_bytes_->DecodeInPlace(std::move(*bytes), specs_.back());
  for (size_t i = array_to_array_.size(); array && i-- > 0;) {
    if (const auto go_on = CheckIfWaitedFor(); !go_on) return Fail(go_on);
    array = array_to_array_[i]->DecodeInPlace(std::move(*array), specs_[i]);
  }
  if (array && array->size() != decoded_size_) {
    return Fail(ErrorCode::kDamaged, "chunk: expected {} bytes, found {}", decoded_size_,
                array->size());
  }
  return array;
} catch (const std::bad_alloc&) {
  return Fail(ErrorCode::kNoMemory, "out of memory while decoding a chunk of {} bytes",
              decoded_size_);
}

uint64_t Pipeline::LimitOf(size_t codec) const {
  return sizes_[codec] ? *sizes_[codec]
                       : BoundOfCompressed(std::max(largest_size_, most_as_bytes_));
}

Result<Bytes> Pipeline::Encode(BytesView decoded) const try {
  if (decoded.size() != decoded_size_) {
    return Fail(ErrorCode::kInvalidArgument, "chunk to encode: expected {} bytes, found {}",
                decoded_size_, decoded.size());
  }
  Bytes bytes;  // owns the output of the codec that ran last
  BytesView current = decoded;
  const auto take = [&](Result<Bytes> encoded) -> Result<void> {
    if (!encoded) return Fail(encoded);
    bytes = std::move(*encoded);
    current = bytes;
    return {};
  };
  for (size_t i = 0; i < array_to_array_.size(); ++i) {
    if (const auto taken = take(array_to_array_[i]->Encode(current, specs_[i])); !taken) {
      return Fail(taken);
    }
  }
  if (const auto taken = take(array_to_bytes_->Encode(current, specs_.back())); !taken) {
    return Fail(taken);
  }
  for (const auto& codec : bytes_to_bytes_) {
    if (const auto taken = take(codec->Encode(current)); !taken) return Fail(taken);
  }
  return bytes;
} catch (const std::bad_alloc&) {
  return Fail(ErrorCode::kNoMemory, "out of memory while encoding a chunk of {} bytes",
              decoded_size_);
}

Result<BytesPipeline> BytesPipeline::Make(std::span<const CodecSpec> codecs) {
  BytesPipeline pipeline;
  for (const CodecSpec& codec : codecs) {
    const CodecFactory* factory = FindCodec(codec.name);
    const auto* make = factory == nullptr ? nullptr : std::get_if<BytesToBytesFactory>(factory);
    if (make == nullptr) {
      return Fail(ErrorCode::kUnsupported, "codec '{}' is not a known bytes -> bytes codec",
                  codec.name);
    }
    auto made = (*make)(codec);
    if (!made) return Fail(made);
    pipeline.codecs_.push_back(std::move(*made));
  }
  return pipeline;
}

Result<Bytes> BytesPipeline::Decode(Bytes encoded, uint64_t limit) const try {
  Result<Bytes> bytes = std::move(encoded);
  for (size_t i = codecs_.size(); bytes && i-- > 0;) {
    if (const auto go_on = CheckIfWaitedFor(); !go_on) return Fail(go_on);
    bytes = codecs_[i]->DecodeInPlace(std::move(*bytes), i == 0 ? limit : BoundOfCompressed(limit));
  }
  return bytes;
} catch (const std::bad_alloc&) {
  return Fail(ErrorCode::kNoMemory, "out of memory while decoding {} bytes", limit);
}

uint64_t BytesPipeline::MemoryToDecode(uint64_t encoded, uint64_t limit) const {
  uint64_t most = encoded;
  uint64_t input = encoded;
  for (size_t i = codecs_.size(); i-- > 0;) {
    const uint64_t output = i == 0 ? limit : BoundOfCompressed(limit);
    most = std::max(most, codecs_[i]->MemoryToDecode(input, output));
    input = output;
  }
  return most;
}

}  // namespace zarrfs
