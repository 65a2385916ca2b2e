#include "zarrcore/zip/zip_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "zarrcore/base/checked.h"
#include "zarrcore/base/hash.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/zip/zip_store.h"

namespace zarrfs {
namespace {

// Number of deflated bytes to read at a time.
constexpr size_t kPiece = 256u << 10;

// Memory of inflate() in bytes, excluding input and output.
constexpr uint64_t kInflateState = 64u << 10;

// One request reads the local header and the needed bytes of a member if these bytes end within
// kNear bytes of the member's beginning. A stored member needs only the requested range, a deflated
// member all of its deflated bytes. The header states where the member's bytes begin: after a name
// and extra fields, which are rarely longer than kLikelyExtra.
constexpr uint64_t kNear = 64u << 10;
constexpr uint64_t kLikelyExtra = 64;

// The maximum compression ratio of deflate: 258 bytes of output take at least two bits.
constexpr uint64_t kMaxRatio = 1032;

std::span<std::byte> BytesOf(std::string& text) { return std::as_writable_bytes(std::span(text)); }

class Inflater {
 public:
  Inflater() { is_open_ = inflateInit2(&stream_, -MAX_WBITS) == Z_OK; }
  ~Inflater() {
    if (is_open_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  [[nodiscard]] bool is_open() const { return is_open_; }
  // True if the deflated stream has ended.
  [[nodiscard]] bool is_done() const { return state_ == Z_STREAM_END; }
  [[nodiscard]] bool is_damaged() const {
    return state_ != Z_OK && state_ != Z_STREAM_END && state_ != Z_BUF_ERROR;
  }

  // Decodes `packed` into the beginning of `out`, and returns the decoded size. Once the stream has
  // ended or `out` is full, the rest of `packed` is ignored.
  size_t Add(std::span<const std::byte> packed, std::span<std::byte> out) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    size_t written = 0;
    // zlib counts in 32 bits, so large buffers need several calls.
    for (;;) {
      constexpr size_t kMaxRoom = 1u << 30;
      const size_t room = std::min(out.size() - written, kMaxRoom);
      // Once `out` is full, zlib needs a byte of room to find the end of the stream.
      std::byte end{};
      stream_.next_out = reinterpret_cast<Bytef*>(room > 0 ? out.data() + written : &end);
      stream_.avail_out = room > 0 ? static_cast<uInt>(room) : 1;
      const uInt before = stream_.avail_out;
      state_ = inflate(&stream_, Z_NO_FLUSH);
      const size_t got = before - stream_.avail_out;
      // If the stream is longer than the member's size, the member is damaged.
      if (room == 0 && got > 0) state_ = Z_DATA_ERROR;
      written += room > 0 ? got : 0;
      if (state_ != Z_OK || stream_.avail_in == 0) {
        if (state_ != Z_OK || stream_.avail_out > 0) return written;
      }
    }
  }

 private:
  z_stream stream_ = {};
  int state_ = Z_OK;
  bool is_open_ = false;
};

uint32_t CrcOf(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Result<void> Inflate(const Object& file, const ZipMember& member, uint64_t data, std::string& out) {
  const auto damaged = [&](std::string_view what) {
    return Fail(ErrorCode::kIo, "damaged zip file: its deflated bytes {}", what);
  };
  Inflater inflater;
  if (!inflater.is_open())
    return Fail(ErrorCode::kNoMemory, "out of memory while inflating the member");
  std::vector<std::byte> packed(std::min<uint64_t>(kPiece, member.packed_size));
  size_t have = 0;
  for (uint64_t at = 0; at < member.packed_size && !inflater.is_done();) {
    const auto piece =
        std::span(packed).first(std::min<uint64_t>(packed.size(), member.packed_size - at));
    if (auto read = file.Read(data + at, piece); !read) return read;
    have += inflater.Add(piece, BytesOf(out).subspan(have));
    if (inflater.is_damaged()) return damaged("do not decode");
    at += piece.size();
  }
  if (!inflater.is_done() || have != out.size()) return damaged("end early");
  if (CrcOf(BytesOf(out)) != member.crc) return damaged("do not match their checksum");
  return {};
}

// A zip file with one range of its bytes in memory. Reads within that range send no request.
class FileWithHead final : public Object {
 public:
  static Result<FileWithHead> Read(const Object& file, uint64_t begin, uint64_t length) {
    std::string bytes(static_cast<size_t>(length), '\0');
    if (auto read = file.Read(begin, BytesOf(bytes)); !read) return Fail(read);
    return FileWithHead(file, begin, std::move(bytes));
  }

  [[nodiscard]] const ObjectInfo& info() const override { return file_.info(); }
  [[nodiscard]] std::span<const std::byte> head() const { return std::as_bytes(std::span(head_)); }

  [[nodiscard]] Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    const bool is_read = offset >= begin_ && offset - begin_ <= head_.size() &&
                         out.size() <= head_.size() - (offset - begin_);
    if (!is_read) return file_.Read(offset, out);
    std::ranges::copy(head().subspan(static_cast<size_t>(offset - begin_), out.size()),
                      out.begin());
    return {};
  }

 private:
  FileWithHead(const Object& file, uint64_t begin, std::string head)
      : file_(file), begin_(begin), head_(std::move(head)) {}

  const Object& file_;
  const uint64_t begin_;
  const std::string head_;
};

class ZipObject final : public Object {
 public:
  ZipObject(std::shared_ptr<const Object> file, ObjectInfo info, ZipMember member, uint64_t data,
            std::shared_ptr<InflatedMembers> inflated)
      : file_(std::move(file)),
        info_(std::move(info)),
        name_(member.name),
        member_(member),
        data_(data),
        inflated_(std::move(inflated)) {
    member_.name = name_;
  }

  [[nodiscard]] const ObjectInfo& info() const override { return info_; }

  [[nodiscard]] Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    auto read = ReadFrom(*file_, offset, out);
    if (read) return read;
    return Fail(read.error().code, "{}: {}", name_, read.error().message);
  }

  // Reads the member from `file`, the zip file or a FileWithHead. Error messages do not contain the
  // member's name, so the caller must add it.
  [[nodiscard]] Result<void> ReadFrom(const Object& file, uint64_t offset,
                                      std::span<std::byte> out) const {
    if (offset > member_.size || out.size() > member_.size - offset) {
      return Fail(ErrorCode::kDamaged, "ends early: expected {} bytes at {}, found {} in all",
                  out.size(), offset, member_.size);
    }
    if (out.empty()) return {};
    if (member_.method == kZipStored) return file.Read(data_ + offset, out);
    const auto inflated = inflated_->Get(file, member_, data_);
    if (!inflated) return Fail(inflated);
    std::memcpy(out.data(), (*inflated)->bytes.data() + offset, out.size());
    return {};
  }

 private:
  const std::shared_ptr<const Object> file_;
  const ObjectInfo info_;
  const std::string name_;
  ZipMember member_;
  const uint64_t data_;  // offset of the member's bytes in the file
  const std::shared_ptr<InflatedMembers> inflated_;
};

// Returns an error if the member is encrypted or its compression method is not supported.
Result<void> CheckReadable(const ZipMember& member) {
  if (member.is_encrypted) return Fail(ErrorCode::kUnsupported, "encrypted in the zip file");
  if (member.method != kZipStored && member.method != kZipDeflated) {
    return Fail(ErrorCode::kUnsupported,
                "compressed in the zip file by method {}: only stored and deflated members can be "
                "read (write it again with zip -0)",
                member.method);
  }
  return {};
}

// Returns the offset of a member's bytes in the zip file. `header`: the member's local header, or
// as much of it as ZipDataOffset() needs.
Result<uint64_t> BeginOf(const ZipFile& zip, const ZipMember& member,
                         std::span<const std::byte> header) {
  const auto skipped = ZipDataOffset(header, member);
  if (!skipped) return Fail(ErrorCode::kIo, "{}", skipped.error().message);
  const uint64_t data = member.header + *skipped;
  if (data > zip.members_end || member.packed_size > zip.members_end - data) {
    return Fail(ErrorCode::kIo, "damaged zip file: it overlaps the directory");
  }
  return data;
}

}  // namespace

Result<std::shared_ptr<const ZipFile>> ZipFile::Read(const Store& container, std::string_view key) {
  std::string tail(kZipTail, '\0');
  auto answer = container.Read(key, ByteRange::Suffix(tail.size()), BytesOf(tail));
  if (!answer) return Fail(answer);
  tail.resize(answer->length);
  const uint64_t file_size = answer->object->info().size();
  const auto place = FindZipDirectory(BytesOf(tail), file_size);
  if (!place) return Fail(place);

  auto zip = std::make_shared<ZipFile>();
  auto memory = ProcessMemory().Take(place->bytes_in_memory());
  if (!memory) {
    return Fail(memory.error().code, "a directory of {} members: {}", place->members,
                memory.error().message);
  }
  std::string bytes;
  if (place->offset >= answer->offset) {
    bytes = tail.substr(static_cast<size_t>(place->offset - answer->offset),
                        static_cast<size_t>(place->size));
  } else {
    bytes.resize(static_cast<size_t>(place->size));
    if (auto read = answer->object->Read(place->offset, BytesOf(bytes)); !read) return Fail(read);
  }
  auto directory = ZipDirectory::Parse(std::move(bytes), *place);
  if (!directory) return Fail(directory);
  zip->memory = *std::move(memory);
  zip->directory = *std::move(directory);
  zip->members_end = place->offset;
  zip->object = std::move(answer->object);
  return zip;
}

ObjectInfo ZipFile::InfoOfFolder() const {
  ObjectInfo info = object->info();
  info.version.etag += fmt::format("zip {}", info.version.size);
  info.version.size = 0;
  info.is_folder = true;
  info.mode |= (info.mode & 0444U) >> 2;  // users who may read a folder may also search it
  return info;
}

ObjectInfo ZipFile::InfoOf(const ZipMember& member) const {
  ObjectInfo info = InfoOfFolder();
  if (member.is_folder) return info;
  info.is_folder = false;
  info.mode = object->info().mode & 0666U;
  info.version.size = member.size;
  return info;
}

size_t InflatedMembers::HashOfKey::operator()(const Key& key) const {
  return HashFields(key.fingerprint, key.header);
}

InflatedMembers::InflatedMembers()
    : cache_(kInflatedBytes),
      holder_(ProcessMemory(), [this](uint64_t missing) { cache_.Evict(missing); }) {
  cache_.KeepLatestLarge();
}

bool InflatedMembers::Has(const Object& file, const ZipMember& member) {
  return cache_.Get(KeyOf(file, member)) != nullptr;
}

Result<InflatedMembers::BytesPtr> InflatedMembers::Get(const Object& file, const ZipMember& member,
                                                       uint64_t data) {
  const auto load = [&]() -> Result<LruCache<Key, Bytes, HashOfKey>::Loaded> {
    if (member.size / kMaxRatio > member.packed_size) {
      return Fail(ErrorCode::kIo, "damaged zip file: {} bytes cannot be deflated to {}",
                  member.size, member.packed_size);
    }
    auto memory = ProcessMemory().Take(member.size + kPiece + kInflateState);
    if (!memory) return Fail(memory);
    auto inflated = std::make_shared<Bytes>();
    inflated->memory = *std::move(memory);
    inflated->bytes.resize(static_cast<size_t>(member.size));
    if (auto done = Inflate(file, member, data, inflated->bytes); !done) return Fail(done);
    inflated->memory.ShrinkTo(member.size);
    return LruCache<Key, Bytes, HashOfKey>::Loaded{inflated,
                                                   inflated->bytes.size() + sizeof(Bytes)};
  };
  return cache_.GetOrLoad(KeyOf(file, member), load);
}

Result<uint64_t> FindZipMember(const ZipFile& zip, const ZipMember& member) {
  if (auto readable = CheckReadable(member); !readable) return Fail(readable);
  std::string header(kZipLocalHeader + member.name.size(), '\0');
  if (auto read = zip.object->Read(member.header, BytesOf(header)); !read) return Fail(read);
  return BeginOf(zip, member, BytesOf(header));
}

Result<ReadAnswer> ReadZipMember(const ZipFile& zip, const ZipMember& member,
                                 std::shared_ptr<InflatedMembers> inflated, ByteRange range,
                                 std::span<std::byte> out) {
  if (auto readable = CheckReadable(member); !readable) return Fail(readable);
  const uint64_t size = member.size;
  const uint64_t offset =
      range.from_end ? size - std::min(size, range.length) : std::min(size, range.offset);
  out =
      out.first(static_cast<size_t>(std::min({range.length, size - offset, uint64_t{out.size()}})));

  const bool is_stored = member.method == kZipStored;
  const uint64_t wanted = is_stored                            ? offset + out.size()
                          : inflated->Has(*zip.object, member) ? 0
                                                               : member.packed_size;
  const uint64_t more = wanted > 0 && wanted <= kNear ? kLikelyExtra + wanted : 0;
  const uint64_t head =
      std::min(kZipLocalHeader + member.name.size() + more, zip.members_end - member.header);
  const auto file = FileWithHead::Read(*zip.object, member.header, head);
  if (!file) return Fail(file);
  const auto data = BeginOf(zip, member, file->head());
  if (!data) return Fail(data);
  auto object = std::make_shared<const ZipObject>(zip.object, zip.InfoOf(member), member, *data,
                                                  std::move(inflated));
  if (auto read = object->ReadFrom(*file, offset, out); !read) return Fail(read);
  // The CRC of larger members is not checked, because that would take longer than the read.
  if (is_stored && out.size() == size && size <= kNear && CrcOf(out) != member.crc) {
    return Fail(ErrorCode::kIo, "damaged zip file: its bytes do not match their checksum");
  }
  return ReadAnswer{std::move(object), offset, out.size()};
}

}  // namespace zarrfs
