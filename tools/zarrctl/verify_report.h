// The findings of `zarrctl verify`: lines as they are found, or one JSON document at the end.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "tools/zarrctl/progress.h"
#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

/// Why something is not sound.
struct Reason {
  bool is_unread = false;  // it could not be read; otherwise it is damaged
  std::string text;

  /// From an error, without the key in its message.
  [[nodiscard]] static Reason Of(const Error& error, const std::string& key);
  auto operator<=>(const Reason&) const = default;
};

struct AffectedChunks {
  std::string first;  // empty: the object itself
  uint64_t others = 0;
};

/// The problems of one object; equal reasons are one entry (a damaged index affects every chunk).
using Findings = std::map<Reason, AffectedChunks>;

/// Thread-safe.
class VerifyReport {
 public:
  /// `line`: hidden before another one is printed.
  VerifyReport(bool json, Progress& line) : progress(line), json_(json) {}

  /// Prints the findings and clears them.
  void Add(const std::string& key, Findings& findings);
  /// Something that is damaged, or cannot be read. `key` is omitted from the message.
  void AddProblem(const std::string& key, const Error& error);
  /// An array that could not be checked, or not fully.
  void AddUnchecked(const std::string& path, std::string_view what, const std::string& reason);

  /// Something that is not damage but that users may want to know.
  void AddNote(const std::string& key, const std::string& note);
  /// A file that does not belong to any array or group.
  void AddStray(const std::string& key);

  /// Prints the last line, or the document. `store`: the checked store.
  void Summarise(const std::string& store, bool stopped);
  /// kExitOk only if everything was checked and is sound.
  [[nodiscard]] int ExitCode() const;

  Progress& progress;
  /// What was looked at.
  struct {
    std::atomic<uint64_t> arrays{0}, objects{0}, chunks{0};
    std::atomic<uint64_t> bytes{0};  // encoded, of chunks that were decoded
    std::atomic<uint64_t> chunks_without_checksum{0};
  } counts;

 private:
  // Damage, or what could not be read.
  struct Tally {
    uint64_t count = 0;
    uint64_t not_listed = 0;  // of it, in the document
    Json list = Json::array();
  };
  void Add(const std::string& key, const Reason& reason, const AffectedChunks& chunks);
  void SummariseJson(const std::string& store, bool complete) const;

  const bool json_;
  mutable std::mutex mutex_;  // the lines, and:
  Tally damage_;
  Tally unread_;
  uint64_t unchecked_count_ = 0;
  Json unchecked_ = Json::array();
  Json notes_ = Json::array();
  uint64_t stray_count_ = 0;
  std::string first_stray_;
};

}  // namespace zarrfs::ctl
