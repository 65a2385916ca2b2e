#include "fs/tree/assembled_reader.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

// The maximum distance by which READs of one sequential reader may arrive out of order.
constexpr uint64_t kDisorder = 1u << 20;
constexpr size_t kReaders = 8;  // the maximum number of readers that are tracked

// The number of bytes that a reader must have read in order before a window is assembled for it: at
// least kMinRun, and at least the size of the window divided by kRunPart.
constexpr uint64_t kMinRun = 1u << 20;
constexpr uint64_t kRunPart = 32;

// The size in bytes that windows should reach if chunks are small, and the size below which windows
// are useless.
constexpr uint64_t kEnough = 4u << 20;
constexpr uint64_t kMinWindow = 512u << 10;

constexpr size_t kMaxTasks = 4;

}  // namespace

SequentialReaders::Stream* SequentialReaders::Find(uint64_t reader) {
  const auto found = std::ranges::find(streams_, reader, &Stream::id);
  return found == streams_.end() ? nullptr : &*found;
}

SequentialReaders::Reader SequentialReaders::OnRead(uint64_t version, uint64_t offset,
                                                    uint64_t size) {
  const MutexLock lock(mutex_);
  const auto known = std::ranges::find_if(streams_, [&](const Stream& stream) {
    const uint64_t off = std::max(stream.end, offset) - std::min(stream.end, offset);
    return stream.version == version && off <= kDisorder;
  });
  Stream stream{.version = version};
  if (known != streams_.end()) {
    stream = std::move(*known);
    streams_.erase(known);
  } else {
    stream.id = ++last_id_;
  }
  if (streams_.size() == kReaders) streams_.pop_back();
  stream.end = std::max(stream.end, offset + size);
  stream.run += size;
  const Reader reader{stream.id, stream.run};
  streams_.push_front(std::move(stream));
  return reader;
}

SequentialReaders::State SequentialReaders::Begin(uint64_t reader, uint64_t offset) {
  const MutexLock lock(mutex_);
  Stream* const stream = Find(reader);
  if (stream == nullptr || offset < stream->passed) return State::kFailed;
  const auto [window, is_new] = stream->windows.try_emplace(offset, State::kUnderWay);
  return is_new ? State::kNew : window->second;
}

void SequentialReaders::End(uint64_t reader, uint64_t offset, bool is_made) {
  const MutexLock lock(mutex_);
  Stream* const stream = Find(reader);
  if (stream == nullptr) return;
  const auto window = stream->windows.find(offset);
  if (window != stream->windows.end()) window->second = is_made ? State::kMade : State::kFailed;
}

std::vector<uint64_t> SequentialReaders::Pass(uint64_t reader, uint64_t offset) {
  std::vector<uint64_t> made;
  const MutexLock lock(mutex_);
  Stream* const stream = Find(reader);
  if (stream == nullptr) return made;
  stream->passed = std::max(stream->passed, offset);
  auto& windows = stream->windows;
  while (!windows.empty() && windows.begin()->first < offset) {
    if (windows.begin()->second != State::kFailed) made.push_back(windows.begin()->first);
    windows.erase(windows.begin());
  }
  return made;
}

AssembledReader::~AssembledReader() {
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
    arrived_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

ChunkReader::Window AssembledReader::KeyOf(const Version& version, const AssembledWindow& window) {
  const Node& array = *version.file->arrays[window.array];
  return {*array.chunks, version.number, window.first, window.size};
}

std::optional<AssembledWindow> AssembledReader::WindowAt(const Version& version,
                                                         uint64_t offset) const {
  const uint64_t most = std::min(chunks_.capacity(), ProcessMemory().limit() / 2);
  auto window = zarrfs::WindowAt(*version.file, offset, std::min(kEnough, most / 4), most);
  return window && window->size >= kMinWindow ? window : std::nullopt;
}

Result<AssembledReader::Piece> AssembledReader::Read(const Version& version, uint64_t offset,
                                                     std::span<std::byte> buffer) {
  const uint64_t size = version.file->file.size;
  if (offset >= size) return Piece{};
  const auto out = buffer.first(std::min<uint64_t>(buffer.size(), size - offset));
  const Reader reader = readers_.OnRead(version.number, offset, out.size());
  uint64_t at = offset;
  for (const uint64_t end = offset + out.size(); at < end;) {
    std::optional<AssembledWindow> window;
    if (reader.run >= kMinRun && files_.MayKeep(version)) window = WindowAt(version, at);
    uint64_t until = end;
    std::shared_ptr<const Bytes> bytes;
    if (window && window->offset > at) {
      until = std::min(end, window->offset);
    } else if (window) {
      until = std::min(end, window->end());
      auto got = Get(version, reader, *window);
      if (!got) return Fail(got);
      bytes = std::move(*got);
    }
    const auto part = out.subspan(at - offset, until - at);
    if (bytes == nullptr) {
      if (const auto read = files_.Read(version, at, part, chunks_); !read) return Fail(read);
    } else {
      MakeNext(version, reader.id, *window, at);
      const auto from = std::span(*bytes).subspan(at - window->offset, part.size());
      if (part.size() == out.size()) return Piece{from, std::move(bytes)};
      std::ranges::copy(from, part.begin());
    }
    at = until;
  }
  return Piece{out, nullptr};
}

Result<std::shared_ptr<const Bytes>> AssembledReader::Get(const Version& version,
                                                          const Reader& reader,
                                                          const AssembledWindow& window) {
  if (auto kept = chunks_.Find(KeyOf(version, window))) return kept;
  if (reader.run < window.size / kRunPart) return nullptr;
  // A call to the store that must not wait could fail in the middle of the window, and waste the
  // work done so far.
  if (!MayWait()) return Fail(ErrorCode::kWouldBlock, "assembling a window takes long");
  switch (readers_.Begin(reader.id, window.offset)) {
    case SequentialReaders::State::kNew:
    case SequentialReaders::State::kUnderWay:
      break;
    default:
      return nullptr;
  }
  if (2 * window.size > chunks_.capacity()) DropBefore(version, reader.id, window.offset);
  auto made = Make(version, reader.id, window);
  // On failure, the caller reads from chunks, so only reads of the unreadable bytes fail.
  if (!made) return nullptr;
  return made;
}

Result<std::shared_ptr<const Bytes>> AssembledReader::Make(const Version& version, uint64_t reader,
                                                           const AssembledWindow& window) {
  auto made = chunks_.Get(KeyOf(version, window),
                          [&] { return files_.Assemble(version, window, chunks_); });
  readers_.End(reader, window.offset, made.has_value());
  return made;
}

void AssembledReader::DropBefore(const Version& version, uint64_t reader, uint64_t offset) {
  for (const uint64_t passed : readers_.Pass(reader, offset)) {
    if (const auto window = WindowAt(version, passed)) chunks_.Drop(KeyOf(version, *window));
  }
}

void AssembledReader::MakeNext(const Version& version, uint64_t reader,
                               const AssembledWindow& window, uint64_t offset) {
  if (offset - window.offset < kDisorder / 2) return;
  DropBefore(version, reader, window.offset);
  const auto next = is_fast_ ? WindowAt(version, window.end()) : std::nullopt;
  if (!next || window.size + next->size > chunks_.capacity()) return;
  const MutexLock lock(mutex_);
  if (tasks_.size() >= kMaxTasks) return;
  if (readers_.Begin(reader, next->offset) != SequentialReaders::State::kNew) return;
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Work(); });
    } catch (const std::system_error&) {
      // No thread could be started. The window is assembled when a reader reaches it.
    }
  }
  tasks_.push_back([this, version, reader, next = *next] { (void)Make(version, reader, next); });
  arrived_.notify_one();
}

void AssembledReader::Work() {
  MutexLock lock(mutex_);
  const AbandonedIf scope([this] { return is_over_.load(); });
  for (;;) {
    arrived_.wait(lock, [&]() REQUIRES(mutex_) { return is_over_ || !tasks_.empty(); });
    if (is_over_) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    try {
      const MemoryBudget::Work work(ProcessMemory());
      task();
    } catch (const std::bad_alloc&) {
      // Memory has run out. The window is assembled when a reader reaches it.
    }
    lock.lock();
  }
}

}  // namespace zarrfs
