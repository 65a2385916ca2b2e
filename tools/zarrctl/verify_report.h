// What `zarrctl verify` found: lines as it is found, or one JSON document at the end.
#ifndef TOOLS_ZARRCTL_VERIFY_REPORT_H_
#define TOOLS_ZARRCTL_VERIFY_REPORT_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "tools/zarrctl/progress.h"
#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

// What is wrong with one object; equal reasons are one entry (a damaged index affects every chunk).
struct Findings {
  struct Where {
    std::string chunk;  // the first; empty: the object itself
    uint64_t others = 0;
  };
  std::map<std::string, Where> damage;
  std::map<std::string, Where> unread;

  void Add(const Error& error, const std::string& key, const std::string& chunk);
  [[nodiscard]] size_t size() const { return damage.size() + unread.size(); }
};

/// What was looked at.
struct VerifyCounts {
  uint64_t arrays = 0;
  uint64_t objects = 0;
  uint64_t chunks = 0;
  uint64_t bytes = 0;  // encoded, of chunks that were decoded
};

/// Thread-safe.
class VerifyReport {
 public:
  explicit VerifyReport(bool json) : json_(json) {}

  /// The line to hide before another is printed; null for none.
  void SetProgress(Progress* progress) { progress_ = progress; }

  /// Prints the findings and clears them.
  void Report(const std::string& key, Findings& findings);
  /// Something that is damaged, or cannot be read. `key` is left out of the message.
  void AddProblem(const std::string& key, const Error& error);
  /// An array that could not be checked, or not fully.
  void AddUnchecked(const std::string& path, std::string_view what, const std::string& reason);

  /// The last line, or the document. `store`: what was checked.
  void Summarise(const std::string& store, const VerifyCounts& counts, bool stopped);
  /// kExitOk only if everything was checked and is sound.
  [[nodiscard]] int ExitCode() const;

 private:
  void Add(bool is_damage, const std::string& key, const Findings::Where& where,
           const std::string& reason);
  void SummariseJson(const std::string& store, const VerifyCounts& counts, bool complete) const;

  const bool json_;
  Progress* progress_ = nullptr;

  mutable std::mutex mutex_;  // the lines, and:
  uint64_t damaged_ = 0;
  uint64_t unread_ = 0;
  uint64_t unchecked_count_ = 0;
  uint64_t damage_not_listed_ = 0;
  uint64_t unread_not_listed_ = 0;
  Json damage_ = Json::array();
  Json unread_list_ = Json::array();
  Json unchecked_ = Json::array();
};

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_VERIFY_REPORT_H_
