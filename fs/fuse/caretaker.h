// Caretaker: answers the kernel's requests for a mount whose workers keep crashing.
//
// The caretaker reads nothing from the store, so the store cannot crash it. If a lookup fails, Zarr
// readers assume that the chunk does not exist and use the fill value. So each name that a chunk or
// document may have is a file whose READ fails with EIO. Listings, and lookups of other names, fail
// with EIO; no lookup says that a name does not exist. The IdJournal lists the known folders.
//
// The folder .zarrfs has the file `options`, which states why the workers crashed. Not thread-safe:
// the session must have one thread.
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
  /// `only_view`: see Nodes. `options`: the contents of .zarrfs/options.
  Caretaker(std::unique_ptr<IdJournal> journal, std::optional<size_t> only_view,
            std::string options);

  /// The callbacks of libfuse. The user data of their session must be the Caretaker.
  [[nodiscard]] static const fuse_lowlevel_ops& Operations();

 private:
  struct Handlers;  // the functions in Operations()

  // What the id of a folder stands for.
  struct Place {
    enum class Kind { kRootOfViews, kNode, kChunkFolder, kStatus };
    Kind kind = Kind::kNode;
    // The number of the folder's node in the journal; nullopt if unknown.
    std::optional<uint32_t> node;
    size_t view = 0;
    size_t level = 0;  // for kChunkFolder: the number of coordinates that the folder fixes
  };
  // What a name in a folder stands for: a folder, or an unreadable file.
  struct Found {
    bool is_folder = false;
    Place place = {};
    NodeId id = 0;  // 0 if the folder has no id yet
  };

  [[nodiscard]] std::optional<Place> PlaceOf(NodeId id) const;
  // Finds a name in a folder; nullopt if no chunk, document or folder can have this name.
  [[nodiscard]] std::optional<Found> Find(const Place& folder, const std::string& name) const;
  [[nodiscard]] std::optional<Found> FindChunk(const Place& folder, const std::string& name) const;
  // Looks up a name; nullopt if the reply must be EIO.
  [[nodiscard]] std::optional<fuse_entry_param> LookUp(NodeId folder, const std::string& name);
  // Returns the attributes of an id; nullopt if the id is unknown.
  [[nodiscard]] std::optional<struct stat> Attributes(NodeId id) const;
  [[nodiscard]] fuse_entry_param EntryOf(NodeId id, const struct stat& attributes) const;

  const std::unique_ptr<IdJournal> journal_;
  const IdJournal::Kept kept_;
  const std::optional<size_t> only_view_;
  const std::string options_;
  NodeId unreadable_ = 0;                              // the id of every unreadable file
  NodeId options_file_ = 0;                            // the id of .zarrfs/options
  std::unordered_map<std::string, uint32_t> by_path_;  // the number of each node, by path
  std::map<uint64_t, uint32_t> by_block_;              // the number of each node, by its block
  // The chunk names of each array (see NamingIn()), by the number of its node.
  std::unordered_map<uint32_t, uint64_t> naming_;
  // The ids of folders that are not in the journal, by parent and name.
  std::map<std::pair<NodeId, std::string>, NodeId> made_;
  std::unordered_map<NodeId, Place> places_;
};

}  // namespace zarrfs
