// Caretaker: answers for a mount whose workers keep crashing.
//
// It reads nothing from the store, so the store cannot crash it, too. To Zarr readers a name that
// cannot be looked up is an absent chunk, that is, the fill value. So each name that a chunk or
// document may have is a file whose READ fails with EIO; listings, and unknown names, fail with
// EIO. Nothing is absent. It knows the folders from the IdJournal.
//
// The folder .zarrfs has `options`, which states the reason. For a session with one thread.
#pragma once

#include <fuse_lowlevel.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/ids/id_journal.h"
#include "fs/ids/node_table.h"

namespace zarrfs {

class Caretaker {
 public:
  /// `only_view`: as in Nodes. `options`: the text of .zarrfs/options.
  Caretaker(std::unique_ptr<IdJournal> journal, std::optional<size_t> only_view,
            std::string options);

  /// The user data of the session is the Caretaker.
  [[nodiscard]] static const fuse_lowlevel_ops& Operations();

 private:
  struct Handlers;  // of Operations()

  // The meaning of a folder.
  struct Place {
    enum class Kind { kRootOfViews, kNode, kChunkFolder, kStatus };
    Kind kind = Kind::kNode;
    std::optional<uint32_t> node;  // in the journal; nullopt: unknown
    size_t view = 0;
    size_t level = 0;  // kChunkFolder: number of coordinates of its chunks
  };
  // The meaning of a name in a folder: a folder, or an unreadable file.
  struct Found {
    bool is_folder = false;
    Place place = {};
    NodeId id = 0;  // if it has one
  };

  [[nodiscard]] std::optional<Place> PlaceOf(NodeId id) const;
  // nullopt if unknown.
  [[nodiscard]] std::optional<Found> Find(const Place& folder, const std::string& name) const;
  [[nodiscard]] std::optional<Found> FindChunk(const Place& folder, const std::string& name) const;
  // The entry of a name; nullopt: EIO.
  [[nodiscard]] std::optional<fuse_entry_param> LookUp(NodeId folder, const std::string& name);
  // nullopt for unknown ids.
  [[nodiscard]] std::optional<struct stat> Attributes(NodeId id) const;
  [[nodiscard]] fuse_entry_param EntryOf(NodeId id, const struct stat& attributes) const;

  const std::unique_ptr<IdJournal> journal_;
  const IdJournal::Kept kept_;
  const std::optional<size_t> only_view_;
  const std::string options_;
  NodeId unreadable_ = 0;                              // of every unreadable file
  NodeId options_file_ = 0;                            // of .zarrfs/options
  std::unordered_map<std::string, uint32_t> by_path_;  // nodes
  std::map<uint64_t, uint32_t> by_block_;              // likewise
  std::unordered_map<uint32_t, uint64_t> naming_;      // of arrays, by node
  // Folders whose ids are not in the journal.
  std::map<std::pair<NodeId, std::string>, NodeId> made_;
  std::unordered_map<NodeId, Place> places_;
};

}  // namespace zarrfs
