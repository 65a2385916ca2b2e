// Contents: which version of a file an inode stands for, and the bytes of that version.
//
// A version that was superseded can be read for a while by programs that opened it (old chunks
// through SupersededShards, old documents through NodeRecord::past_documents); then reading fails
// with kStale. Never gives the bytes of another version. Thread-safe.
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

/// A piece of a file. `owner` keeps the bytes, unless they are in the caller's buffer.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::optional<ChunkLocation> location;  // of a chunk that is stored
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

  /// Where a chunk that is stored is, in the version of its inode.
  [[nodiscard]] Result<ChunkLocation> Locate(const Target& chunk) const;

  /// The size of a chunk file, exact, in bytes.
  [[nodiscard]] Result<uint64_t> SizeOf(const ArrayRange& range, size_t view, InnerIndex chunk,
                                        const ChunkLocation& location) const;

  /// Bytes of a chunk file from `offset` on, as many as `buffer` has, and fewer only at the end.
  [[nodiscard]] Result<FileBytes> ReadChunk(const ArrayRange& range, size_t view, InnerIndex chunk,
                                            const ChunkLocation& location, uint64_t offset,
                                            std::span<std::byte> buffer) const;
  /// Likewise of any file's inode but a status file's.
  [[nodiscard]] Result<FileBytes> Read(const Target& target, uint64_t offset,
                                       std::span<std::byte> buffer) const;

  /// The error that a READ gives: never kNotFound, which readers of Zarr take for an absent chunk.
  [[nodiscard]] static Error ErrorOfRead(Error error);

  /// The version of an assembled file that an inode stands for.
  [[nodiscard]] Result<AssembledFiles::Version> VersionOf(const Target& file) const;

  /// Versions of documents that are made from several nodes and of assembled files, by
  /// DocumentId(view, document, 0).
  [[nodiscard]] EpochTable& made_documents() const { return made_documents_; }

  /// See ChunkReader.
  void TellOfWanted(ChunkReader::OnWanted on_wanted) const {
    chunk_reader_.TellOfWanted(std::move(on_wanted));
  }
  [[nodiscard]] StoredRanges* stored_ranges() const { return chunk_reader_.ranges(); }

  /// Bytes of decoded chunks that are kept, from now on.
  void SetCacheSize(uint64_t bytes) { chunk_reader_.SetCapacity(bytes); }
  /// Drops a chunk larger than that which was not read since the last call.
  void Sweep() { chunk_reader_.Sweep(); }
  /// Memory is short: forgets decoded chunks of `bytes`, or all there are.
  void GiveUp(size_t bytes) { chunk_reader_.GiveUp(bytes); }
  [[nodiscard]] CacheStatistics cache_statistics() const { return chunk_reader_.statistics(); }

 private:
  Result<FileBytes> ReadStoredChunk(const Target& chunk, uint64_t offset,
                                    std::span<std::byte> buffer) const;
  Result<FileBytes> ReadDocument(const Target& document, uint64_t offset, size_t most) const;
  Result<FileBytes> ReadAssembledFile(const Target& file, uint64_t offset,
                                      std::span<std::byte> buffer) const;
  // Of one that is made from several nodes.
  Result<std::shared_ptr<const std::string>> MadeTextOf(const Target& document) const;
  // The node that the document or file is of, as it was in the inode's epoch.
  Result<NodePtr> NodeOf(const Target& document) const;
  Result<FileBytes> ReadStoredFile(const Target& target, uint64_t offset,
                                   std::span<std::byte> buffer) const;
  // The error of a READ of an inode that stands for something unreadable.
  Error WhyUnreadable(const Target& target) const;
  // Likewise, once its node can be read; nullopt if the file can be, too.
  std::optional<Error> WhyUnreadableIn(const CurrentNode& node, const Target& target) const;

  Nodes& nodes_;
  AssembledFiles& files_;
  SupersededShards& superseded_;
  mutable ChunkReader chunk_reader_;
  mutable AssembledReader assembled_reader_;
  mutable EpochTable made_documents_;
};

}  // namespace zarrfs
