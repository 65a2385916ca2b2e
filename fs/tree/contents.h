// Contents: finds the version of a file that an inode represents, and reads the bytes of that
// version.
//
// Programs that opened a version can read it for a while after it was superseded: old chunks
// through SupersededShards, old documents through NodeRecord::past_documents. After that, reads
// fail with kStale. Never returns bytes of another version. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "fs/ids/epoch_table.h"
#include "fs/tree/assembled_files.h"
#include "fs/tree/assembled_reader.h"
#include "fs/tree/nodes.h"
#include "fs/tree/superseded_shards.h"
#include "zarrcore/content/chunk_reader.h"

namespace zarrfs {

/// A piece of a file. `owner` owns the bytes; it is null if the bytes are in the caller's buffer.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::optional<ChunkLocation> location;  // set for a stored chunk
};

class Contents {
 public:
  Contents(Nodes& nodes, AssembledFiles& files, SupersededShards& superseded, IdJournal& journal,
           uint64_t cache_bytes)
      : nodes_(nodes),
        files_(files),
        superseded_(superseded),
        chunk_reader_(cache_bytes, !nodes.store().AnswersFast()),
        assembled_reader_(files, chunk_reader_, nodes.store().AnswersFast()),
        made_documents_(UINT64_MAX, std::make_shared<EpochTable::Usage>(), &journal) {
    for (const IdJournal::Epoch& epoch : journal.kept().epochs) {
      if (epoch.table == made_documents_.number()) made_documents_.Inherit(epoch);
    }
  }

  /// Returns the location of a stored chunk, in the version that the inode of `chunk` represents.
  [[nodiscard]] Result<ChunkLocation> Locate(const Target& chunk) const;

  /// The exact size of a chunk file in bytes.
  [[nodiscard]] Result<uint64_t> SizeOf(const ArrayRange& range, size_t view, InnerIndex chunk,
                                        const ChunkLocation& location) const;

  /// Returns bytes of a chunk file from `offset` on: as many as fit in `buffer`, fewer only at the
  /// end of the file.
  [[nodiscard]] Result<FileBytes> ReadChunk(const ArrayRange& range, size_t view, InnerIndex chunk,
                                            const ChunkLocation& location, uint64_t offset,
                                            std::span<std::byte> buffer) const;
  /// Like ReadChunk(), for the inode of any file except status files.
  [[nodiscard]] Result<FileBytes> Read(const Target& target, uint64_t offset,
                                       std::span<std::byte> buffer) const;

  /// Returns the error for the reply to a READ. It is never kNotFound or kNotADirectory, which Zarr
  /// readers would treat as an absent chunk.
  [[nodiscard]] static Error ErrorOfRead(Error error);

  /// Returns the version of an assembled file that the inode of `file` represents.
  [[nodiscard]] Result<AssembledFiles::Version> VersionOf(const Target& file) const;

  /// The epochs of the versions of assembled files and of documents made from several nodes. The
  /// key is DocumentId(view, document, 0).
  [[nodiscard]] EpochTable& made_documents() const { return made_documents_; }

  /// See ChunkReader::TellOfWanted().
  void TellOfWanted(ChunkReader::OnWanted on_wanted) const {
    chunk_reader_.TellOfWanted(std::move(on_wanted));
  }
  [[nodiscard]] StoredRanges* stored_ranges() const { return chunk_reader_.ranges(); }

  /// Sets the capacity for decoded chunks in bytes.
  void SetCacheSize(uint64_t bytes) { chunk_reader_.SetCapacity(bytes); }
  /// Drops a decoded chunk that is larger than the cache, if no reader has read it since the last
  /// call.
  void Sweep() { chunk_reader_.Sweep(); }
  /// Evicts cached chunks until `bytes` bytes are freed or none are left. Called when memory is
  /// short.
  void Evict(size_t bytes) { chunk_reader_.Evict(bytes); }
  [[nodiscard]] CacheStatistics cache_statistics() const { return chunk_reader_.statistics(); }

 private:
  Result<FileBytes> ReadStoredChunk(const Target& chunk, uint64_t offset,
                                    std::span<std::byte> buffer) const;
  Result<FileBytes> ReadDocument(const Target& document, uint64_t offset, size_t most) const;
  Result<FileBytes> ReadAssembledFile(const Target& file, uint64_t offset,
                                      std::span<std::byte> buffer) const;
  // Returns the contents of a document made from several nodes, in the version that its inode
  // represents.
  Result<std::shared_ptr<const std::string>> MadeTextOf(const Target& document) const;
  // Opens the stored object `outer` in the superseded version that the inode represents. Null if
  // that version was dropped or cannot be read again.
  Result<OpenShardPtr> OpenEarlier(const Target& target, OuterIndex outer) const;
  // Returns the node of a document or stored file, as it was in the version that the inode
  // represents.
  Result<NodePtr> NodeOf(const Target& document) const;
  Result<FileBytes> ReadStoredFile(const Target& target, uint64_t offset,
                                   std::span<std::byte> buffer) const;
  // Returns the error for a READ of an inode that stands for an unreadable file.
  Error WhyUnreadable(const Target& target) const;
  // Like WhyUnreadable(), for a file of a readable node; nullopt if the file is readable, too.
  std::optional<Error> WhyUnreadableIn(const CurrentNode& node, const Target& target) const;

  Nodes& nodes_;
  AssembledFiles& files_;
  SupersededShards& superseded_;
  mutable ChunkReader chunk_reader_;
  mutable AssembledReader assembled_reader_;
  mutable EpochTable made_documents_;
};

}  // namespace zarrfs
