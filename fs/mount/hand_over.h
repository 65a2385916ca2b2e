// What a keeper hands over to a program that is executed for its mount: to the one that takes its
// place (fs/process/upgrade.h), and to each worker (fs/process/worker_start.h). It is the text of a
// memory file that the program inherits, with the numbers of the other descriptors it inherits.
//
// The text is a sequence of "name=value" records, each with a NUL at its end. The first one is
// "zarrfs-hand-over=FORMAT". Whoever reads it trusts nothing of it: each record but those of lists
// comes once, none is missing, and none is unknown.
//
// Part of the format are the messages of a Channel, with which the old worker is asked to end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

struct HandOver {
  static constexpr uint64_t kFormat = 3;
  static constexpr size_t kMaxBytes = size_t{8} << 20;
  static constexpr uint64_t kNoDescriptor = UINT32_MAX;

  uint64_t format = kFormat;
  std::string version = {};  // of the program that hands over
  std::string name = {};     // its argv[0]

  // --- MountOptions ------------------------------------------------------------------------------
  std::string source = {};
  std::string mountpoint = {};
  std::string config_file = {};
  std::vector<std::string> config = {};       // in force
  std::vector<std::string> config_read = {};  // as last read
  std::vector<std::string> settings = {};
  uint64_t foreground = 0;
  uint64_t debug = 0;
  uint64_t sloppy = 0;
  uint64_t made_mountpoint = 0;
  // In force, whatever the settings say.
  std::string log_level = {};
  uint64_t index_cache = 0;
  uint64_t cache = 0;
  uint64_t memory = 0;  // the option; 0: its default

  // --- For a worker alone ------------------------------------------------------------------------
  uint64_t keeper = 0;      // process id; 0: for the next keeper
  uint64_t takes_over = 0;  // from another worker
  uint64_t fetch_socket = kNoDescriptor;
  uint64_t fetch_memory = kNoDescriptor;
  uint64_t log = kNoDescriptor;
  uint64_t list = kNoDescriptor;

  // --- OwnMount, for the next keeper alone -------------------------------------------------------
  uint64_t device_before = 0;
  uint64_t device = 0;
  uint64_t mount_id = 0;
  uint64_t unique_mount_id = 0;
  uint64_t covers_dead = 0;
  uint64_t resends = 0;
  std::string init = {};    // FUSE_INIT
  std::string answer = {};  // the first session's (AnswerTo)
  uint64_t connection = kNoDescriptor;
  uint64_t shared = kNoDescriptor;  // if requests can come again

  // --- Workers -----------------------------------------------------------------------------------
  uint64_t worker = 0;  // its process id, a child's; 0: for a worker
  uint64_t channel = kNoDescriptor;
  uint64_t ids = kNoDescriptor;
  uint64_t journal = 0;                 // IdFormat()
  uint64_t root = kNoDescriptor;        // of the store, where the mount hides its path
  uint64_t gives_errors = 0;            // the worker is a caretaker
  std::vector<std::string> stuck = {};  // process ids of killed workers that cannot end yet

  /// Of who asked for the upgrade and waits for the report; may be none.
  uint64_t asker = kNoDescriptor;

  bool operator==(const HandOver&) const = default;
};

[[nodiscard]] std::string ToText(const HandOver& state);

/// kUnsupported if it has another format; kDamaged if it is none or does not hold together.
[[nodiscard]] Result<HandOver> ParseHandOver(std::string_view text);

/// The text of the memory file with this number, which is closed.
[[nodiscard]] Result<std::string> ReadHandOver(Descriptor file);

/// A state that has options, to which config words that are in force belong.
[[nodiscard]] HandOver WithOptions(const MountOptions& options,
                                   const std::vector<std::string>& config_in_force);

/// Its options as this program understands them. kInvalidArgument for those it does not have.
[[nodiscard]] Result<MountOptions> OptionsOf(const HandOver& state);

/// Descriptors that the next program inherits.
[[nodiscard]] std::vector<int> DescriptorsOf(const HandOver& state);

/// The number of a descriptor as the state has it, and the descriptor of such a number, which is
/// not inherited by further programs. Both may be none.
[[nodiscard]] uint64_t NumberFor(const Descriptor& descriptor);
[[nodiscard]] Descriptor Inherited(uint64_t number);

/// Checks that each descriptor is open, of its kind, and no other's, and that the worker is a child
/// of this process.
[[nodiscard]] Result<void> CheckInherited(const HandOver& state);

/// The same in a worker, which is a child of the keeper.
[[nodiscard]] Result<void> CheckWorkerStart(const HandOver& state);

}  // namespace zarrfs
