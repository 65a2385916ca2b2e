#include <lzma.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/growing_output.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

// Maximum memory of a decoder in bytes. A decoder uses most of its memory for the dictionary. The
// encoded bytes state the size of the dictionary, which is 64 MiB at level 9.
constexpr uint64_t kMaxMemory = 256u << 20;
// Memory in bytes that a decoder may use without a reservation from ProcessMemory().
constexpr uint64_t kFreeMemory = 8u << 20;

enum class LzmaFormat { kAuto, kXz, kAlone, kRaw };

// One filter of a chain, with its options as in Python's lzma module.
struct Filter {
  lzma_vli id = LZMA_VLI_UNKNOWN;
  lzma_options_lzma lzma = {};
  lzma_options_delta delta = {};
  lzma_options_bcj bcj = {};
};

using FilterChain = std::array<lzma_filter, LZMA_FILTERS_MAX + 1>;

// Converts filters to liblzma's representation, which contains pointers into `filters`.
FilterChain ChainOf(const std::vector<Filter>& filters) {
  FilterChain chain;
  chain.fill({LZMA_VLI_UNKNOWN, nullptr});
  for (size_t i = 0; i < filters.size(); ++i) {
    const Filter& filter = filters[i];
    const void* options = &filter.bcj;
    if (filter.id == LZMA_FILTER_LZMA1 || filter.id == LZMA_FILTER_LZMA2) options = &filter.lzma;
    if (filter.id == LZMA_FILTER_DELTA) options = &filter.delta;
    chain[i] = {filter.id, const_cast<void*>(options)};  // decoders do not modify the options
  }
  return chain;
}

class LzmaCodec : public BytesToBytesCodec {
 public:
  LzmaCodec(LzmaFormat format, lzma_check check, uint32_t preset, std::vector<Filter> filters)
      : format_(format),
        check_(check),
        preset_(preset),
        filters_(std::move(filters)),
        raw_memory_(filters_.empty() ? 0 : lzma_raw_decoder_memusage(ChainOf(filters_).data())) {}

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    Result<MemoryBudget::Share> memory{};
    if (raw_memory_ > kFreeMemory) memory = ProcessMemory().Take(raw_memory_);
    if (!memory) return Fail(memory);
    lzma_stream stream = LZMA_STREAM_INIT;
    const std::unique_ptr<lzma_stream, decltype(&lzma_end)> owner(&stream, &lzma_end);
    if (const lzma_ret status = Start(stream); status != LZMA_OK) {
      return Fail(ErrorCode::kIo, "lzma: cannot start ({})", static_cast<int>(status));
    }
    GrowingOutput output(limit);
    stream.next_in = reinterpret_cast<const uint8_t*>(encoded.data());
    stream.avail_in = encoded.size();
    for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
      const std::span<std::byte> space = output.Space();
      stream.next_out = reinterpret_cast<uint8_t*>(space.data());
      stream.avail_out = space.size();
      status = lzma_code(&stream, LZMA_FINISH);
      output.Written(space.size() - stream.avail_out);
      if (output.full()) {
        return Fail(ErrorCode::kDamaged, "lzma: expected at most {} bytes, found more", limit);
      }
      if (status == LZMA_MEM_ERROR) return Fail(ErrorCode::kIo, "lzma: out of memory");
      if (status == LZMA_BUF_ERROR) {
        return Fail(ErrorCode::kDamaged, "lzma: {} bytes end inside a stream", encoded.size());
      }
      if (const uint64_t needs = lzma_memusage(&stream);
          status == LZMA_MEMLIMIT_ERROR && needs <= kMaxMemory) {
        memory = ProcessMemory().Take(needs);
        if (!memory) return Fail(memory);
        status = lzma_memlimit_set(&stream, needs);
      }
      if (status == LZMA_MEMLIMIT_ERROR) {
        return Fail(ErrorCode::kDamaged, "lzma: needs {} bytes of memory, limit is {}",
                    lzma_memusage(&stream), kMaxMemory);
      }
      if (status != LZMA_OK && status != LZMA_STREAM_END) {
        return Fail(ErrorCode::kDamaged, "lzma: invalid data at byte {} of {} ({})",
                    encoded.size() - stream.avail_in, encoded.size(), static_cast<int>(status));
      }
    }
    if (stream.avail_in != 0) {
      return Fail(ErrorCode::kDamaged, "lzma: {} bytes follow the stream", stream.avail_in);
    }
    return std::move(output).Take();
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    if (format_ != LzmaFormat::kXz) {
      return Fail(ErrorCode::kUnsupported, "lzma: encoding supports only format 1");
    }
    Bytes encoded(lzma_stream_buffer_bound(decoded.size()));
    size_t size = 0;
    const lzma_ret status = lzma_easy_buffer_encode(
        preset_, check_, nullptr, reinterpret_cast<const uint8_t*>(decoded.data()), decoded.size(),
        reinterpret_cast<uint8_t*>(encoded.data()), &size, encoded.size());
    if (status != LZMA_OK) {
      return Fail(ErrorCode::kIo, "lzma: cannot compress ({})", static_cast<int>(status));
    }
    encoded.resize(size);
    return encoded;
  }

 private:
  lzma_ret Start(lzma_stream& stream) const {
    switch (format_) {
      case LzmaFormat::kAuto:
        return lzma_auto_decoder(&stream, kFreeMemory, LZMA_CONCATENATED);
      case LzmaFormat::kXz:
        return lzma_stream_decoder(&stream, kFreeMemory, LZMA_CONCATENATED);
      case LzmaFormat::kAlone:
        return lzma_alone_decoder(&stream, kFreeMemory);
      case LzmaFormat::kRaw:
        return lzma_raw_decoder(&stream, ChainOf(filters_).data());
    }
    return LZMA_PROG_ERROR;
  }

  const LzmaFormat format_;
  const lzma_check check_;
  const uint32_t preset_;
  const std::vector<Filter> filters_;  // only for kRaw; otherwise empty
  const uint64_t raw_memory_;          // the memory of a decoder for `filters_`, in bytes
};

// Reads "preset": a level, optionally combined with the flag "extreme". Other numbers are invalid.
Result<uint32_t> PresetMember(const CodecSpec& codec, lzma_options_lzma& options) {
  constexpr int64_t kLargest = int64_t{9} | LZMA_PRESET_EXTREME;
  const Result<int64_t> preset =
      IntegerOrNullMember(codec, "preset", 0, kLargest, LZMA_PRESET_DEFAULT);
  if (!preset) return Fail(preset);
  if (lzma_lzma_preset(&options, static_cast<uint32_t>(*preset)) != 0) {
    return WrongMember(codec, "preset", "an integer from 0 to 9");
  }
  return static_cast<uint32_t>(*preset);
}

Result<Filter> ParseFilter(const Json& document) {
  // Wraps the filter as a codec, so its members are read with the same functions and the same error
  // messages.
  const CodecSpec members = {"numcodecs.lzma filter", document};
  constexpr int64_t kLargest = std::numeric_limits<uint32_t>::max();
  Filter filter;
  const Result<int64_t> id =
      IntegerMember(members, "id", 0, std::numeric_limits<int64_t>::max(), -1);
  if (!id) return Fail(id);
  if (*id < 0) return WrongMember(members, "id", "an integer");
  filter.id = static_cast<lzma_vli>(*id);

  const Result<uint32_t> preset = PresetMember(members, filter.lzma);
  if (!preset) return Fail(preset);
  // The options that decoders need. Others are ignored.
  const std::pair<const char*, uint32_t*> options[] = {{"dict_size", &filter.lzma.dict_size},
                                                       {"lc", &filter.lzma.lc},
                                                       {"lp", &filter.lzma.lp},
                                                       {"pb", &filter.lzma.pb},
                                                       {"dist", &filter.delta.dist},
                                                       {"start_offset", &filter.bcj.start_offset}};
  filter.delta.type = LZMA_DELTA_TYPE_BYTE;
  filter.delta.dist = LZMA_DELTA_DIST_MIN;
  for (const auto& [name, option] : options) {
    const Result<int64_t> value = IntegerMember(members, name, 0, kLargest, *option);
    if (!value) return Fail(value);
    *option = static_cast<uint32_t>(*value);
  }
  return filter;
}

Result<std::vector<Filter>> ParseFilters(const CodecSpec& codec) {
  const Json* document = FindMember(codec, "filters");
  if (document == nullptr || !document->is_array() || document->empty() ||
      document->size() > LZMA_FILTERS_MAX) {
    return WrongMember(codec, "filters", "a list of one to four filters");
  }
  std::vector<Filter> filters;
  for (const Json& one : *document) {
    Result<Filter> filter = ParseFilter(one);
    if (!filter) return Fail(filter);
    filters.push_back(*filter);
  }
  const uint64_t memory = lzma_raw_decoder_memusage(ChainOf(filters).data());
  if (memory != UINT64_MAX && memory > kMaxMemory) {
    return Fail(ErrorCode::kTooLarge, "codec '{}': filters need {} bytes of memory, limit is {}",
                codec.name, memory, kMaxMemory);
  }
  // Checks the chain with small dictionaries. The size of a dictionary cannot make a chain invalid,
  // but a large dictionary would take memory.
  std::vector<Filter> small = filters;
  for (Filter& filter : small) {
    filter.lzma.dict_size = std::min<uint32_t>(filter.lzma.dict_size, LZMA_DICT_SIZE_MIN);
  }
  lzma_stream stream = LZMA_STREAM_INIT;
  const lzma_ret status = lzma_raw_decoder(&stream, ChainOf(small).data());
  lzma_end(&stream);
  if (status != LZMA_OK) return WrongMember(codec, "filters", "a chain that can be decoded");
  return filters;
}

}  // namespace

Result<BytesToBytesPtr> MakeLzmaCodec(const CodecSpec& codec) {
  const Result<int64_t> format = IntegerOrNullMember(codec, "format", 0, 3, 1);
  if (!format) return Fail(format);
  // Decoders ignore "check" and "preset", but need the filters.
  const int64_t check = EncoderMember(codec, "check", -1, LZMA_CHECK_ID_MAX, -1);
  lzma_options_lzma options = {};
  const Result<uint32_t> preset = PresetMember(codec, options);
  std::vector<Filter> filters;
  if (static_cast<LzmaFormat>(*format) == LzmaFormat::kRaw) {
    auto parsed = ParseFilters(codec);
    if (!parsed) return Fail(parsed);
    filters = std::move(*parsed);
  }
  return std::make_shared<const LzmaCodec>(
      static_cast<LzmaFormat>(*format),
      check < 0 ? LZMA_CHECK_CRC64 : static_cast<lzma_check>(check),
      preset.value_or(LZMA_PRESET_DEFAULT), std::move(filters));
}

}  // namespace zarrfs
