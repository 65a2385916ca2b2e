// NodeId: the number of a file or folder of a mount, an inode number: 16 bits of epoch over 48 bits
// of position.
#ifndef FS_TREE_NODE_ID_H_
#define FS_TREE_NODE_ID_H_

#include <cstdint>

namespace zarrfs {

using NodeId = uint64_t;

inline constexpr NodeId kRootId = 1;
inline constexpr int kPositionBits = 48;

[[nodiscard]] constexpr uint64_t PositionOf(NodeId id) {
  return id & ((NodeId{1} << kPositionBits) - 1);
}
[[nodiscard]] constexpr uint16_t EpochOf(NodeId id) {
  return static_cast<uint16_t>(id >> kPositionBits);
}
/// Epochs that no version has: of inodes that stand for a chunk that cannot be read, and for one
/// that is not stored and is a file of fill values.
inline constexpr uint16_t kUnreadableEpoch = 0xffff;
inline constexpr uint16_t kFillEpoch = 0xfffe;
/// Versions have epochs modulo this.
inline constexpr uint32_t kEpochs = 0xfffe;

[[nodiscard]] constexpr NodeId MakeId(uint64_t position, uint32_t epoch) {
  return (NodeId{epoch % kEpochs} << kPositionBits) | position;
}
[[nodiscard]] constexpr NodeId MakeUnreadableId(uint64_t position) {
  return (NodeId{kUnreadableEpoch} << kPositionBits) | position;
}
[[nodiscard]] constexpr NodeId MakeFillId(uint64_t position) {
  return (NodeId{kFillEpoch} << kPositionBits) | position;
}

}  // namespace zarrfs

#endif  // FS_TREE_NODE_ID_H_
