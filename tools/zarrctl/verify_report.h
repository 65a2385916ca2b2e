// VerifyReport: the findings of `zarrctl verify`, printed as lines when they are found, or as one
// JSON document at the end.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tools/zarrctl/progress.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

/// The reason why an object or node failed the check.
struct Reason {
  bool is_unread = false;  // true if the object could not be read; false if it is damaged
  std::string text;

  /// Makes a reason from an error, without the key in its message.
  [[nodiscard]] static Reason Of(const Error& error, const std::string& key);
  auto operator<=>(const Reason&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct AffectedChunks {
  std::string first;  // the first affected chunk; "" if the object itself is affected
  uint64_t others = 0;
};

/// The problems of one object. Problems with the same reason are one entry, because a damaged index
/// affects every chunk.
using Findings = std::map<Reason, AffectedChunks>;

/// Collects and prints findings. Thread-safe.
class VerifyReport {
 public:
  /// `line`: the progress line, which the report hides before it prints a line.
  VerifyReport(bool json, Progress& line) : progress(line), json_(json) {}

  /// Adds the findings about one object, and clears `findings`.
  void Add(const std::string& key, Findings& findings);
  /// Adds an object or document that is damaged or cannot be read. If the message of `error` begins
  /// with `key`, the key is not repeated.
  void AddProblem(const std::string& key, const Error& error);
  /// Adds an array that could not be checked completely.
  void AddUnchecked(const std::string& path, std::string_view what, const std::string& reason);

  /// Adds a remark about a node or document that is not damaged.
  void AddNote(const std::string& key, const std::string& note);
  /// Adds a file that does not belong to any array or group.
  void AddStray(const std::string& key);

  /// Prints the summary line, or the JSON document. `store`: the checked store.
  void Summarise(const std::string& store, bool stopped);
  /// Returns the exit code: kExitOk only if everything was checked and no damage was found.
  [[nodiscard]] int ExitCode() const;

  Progress& progress;
  /// Counts of the items checked so far.
  struct {
    std::atomic<uint64_t> arrays{0}, objects{0}, chunks{0};
    std::atomic<uint64_t> bytes{0};  // the encoded size of the chunks whose contents were checked
    std::atomic<uint64_t> chunks_without_checksum{0};
  } counts;

 private:
  // Counts the objects and chunks that are damaged or could not be read, and lists the first of
  // them for the JSON document.
  struct Tally {
    uint64_t count = 0;
    uint64_t not_listed = 0;  // the number of problems that the JSON document omits
    Json list = Json::array();
  };
  void Add(const std::string& key, const Reason& reason, const AffectedChunks& chunks);
  void SummariseJson(const std::string& store, bool complete) const REQUIRES(mutex_);

  const bool json_;
  mutable Mutex mutex_;  // also held while lines are printed
  Tally damage_ GUARDED_BY(mutex_);
  Tally unread_ GUARDED_BY(mutex_);
  uint64_t unchecked_count_ GUARDED_BY(mutex_) = 0;
  Json unchecked_ GUARDED_BY(mutex_) = Json::array();
  Json notes_ GUARDED_BY(mutex_) = Json::array();
  uint64_t stray_count_ GUARDED_BY(mutex_) = 0;
  std::string first_stray_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs::ctl
