#include "zarrcore/net/virtual_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "zarrcore/base/option_list.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/net/secret_files.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxVirtualFile = size_t{64} << 10;

constexpr std::string_view kOfServers[] = {"headers", "query"};
constexpr std::string_view kOfBuckets[] = {"region",         "endpoint", "addressing", "profile",
                                           "requester_pays", "headers",  "query",      "anonymous"};

std::span<const std::string_view> OptionsOf(VirtualScheme scheme) {
  if (scheme == VirtualScheme::kFile) return {};
  if (scheme == VirtualScheme::kS3) return kOfBuckets;
  return kOfServers;
}

// Splits a line into words, as virtual_file.h describes.
std::vector<std::string> WordsOf(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string> words(1);
  for (size_t at = 0; at < line.size(); ++at) {
    const bool has_next = at + 1 < line.size();
    if (line[at] == '\\' && has_next && (line[at + 1] == '\\' || line[at + 1] == ' ')) {
      words.back() += line[++at];
    } else if (kBlanks.find(line[at]) != kBlanks.npos) {
      words.emplace_back();
    } else {
      words.back() += line[at];
    }
  }
  std::erase(words, "");
  return words;
}

tl::unexpected<Error> Invalid(std::string_view what, std::string_view why) {
  return Fail(ErrorCode::kInvalidArgument, "'{}': {}", AsciiExcerpt(what), why);
}

// Checks one option of a line.
Result<void> CheckOption(std::string_view word, VirtualScheme scheme) {
  const std::string_view name = NameOfOption(word);
  const std::string_view value = word.substr(std::min(name.size() + 1, word.size()));
  const auto allowed = OptionsOf(scheme);
  if (std::ranges::find(allowed, name) == allowed.end()) {
    return Invalid(word, allowed.empty()
                             ? "a folder has no options"
                             : fmt::format("expected options of this prefix, which are {}",
                                           fmt::join(allowed, ", ")));
  }
  const bool is_file = std::ranges::find(kOfServers, name) != std::end(kOfServers);
  if (is_file && !value.starts_with('/')) {
    return Invalid(word, "expected a path that begins with /");
  }
  RemoteOptions ignored;
  if (!SetRemoteOption(name, value, ignored)) {
    return Invalid(word, "invalid value (see zarrfs --help)");
  }
  return {};
}

Result<VirtualPrefix> ParseLine(const std::vector<std::string>& words) {
  auto prefix = ParseVirtualPrefix(words.front());
  if (!prefix) return prefix;
  std::vector<std::string_view> names;
  for (const std::string& word : std::span(words).subspan(1)) {
    if (const auto checked = CheckOption(word, prefix->scheme); !checked) return Fail(checked);
    const std::string_view name = NameOfOption(word);
    if (std::ranges::find(names, name) != names.end()) return Invalid(word, "given twice");
    names.push_back(name);
    prefix->options += (prefix->options.empty() ? "" : ",") + EscapeOption(word);
  }
  if (prefix->is_local()) return prefix;
  // Checks the options together, and the address of an endpoint, which CheckOption() does not
  // check.
  const auto source = ParseRemoteSource("", {}, std::span(&*prefix, 1));
  return source ? std::move(prefix) : Result<VirtualPrefix>(Fail(source));
}

Result<void> Add(VirtualPrefix prefix, std::vector<VirtualPrefix>& prefixes) {
  const auto is_same = [&](const VirtualPrefix& each) { return each.IsSamePlaceAs(prefix); };
  if (std::ranges::any_of(prefixes, is_same)) {
    return Invalid(prefix.Text(), "given twice: in virtual= or in an earlier line, too");
  }
  if (prefixes.size() == kMaxVirtualPrefixes) {
    return Fail(ErrorCode::kInvalidArgument, "more than {} prefixes", kMaxVirtualPrefixes);
  }
  prefixes.push_back(std::move(prefix));
  return {};
}

Result<std::string> ReadAll(const Descriptor& file) {
  std::string text(kMaxVirtualFile + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t count =
        TEMP_FAILURE_RETRY(read(file.get(), text.data() + length, text.size() - length));
    if (count < 0) return Fail(FromErrno(errno), "{}", ErrnoText(errno));
    if (count == 0) break;
    length += static_cast<size_t>(count);
  }
  if (length > kMaxVirtualFile)
    return Fail(ErrorCode::kTooLarge, "larger than {} bytes", kMaxVirtualFile);
  text.resize(length);
  return text;
}

// True if the lines in `text` configure credentials for at least one prefix. False if a line is
// malformed.
bool NamesCredentials(std::string_view text) {
  std::vector<VirtualPrefix> prefixes;
  if (!AddVirtualFile(text, "", prefixes)) return false;
  const auto source = ParseRemoteSource("", {}, prefixes);
  return source && std::ranges::any_of(source->prefixes, &RemoteSource::has_credentials);
}

// Returns why the file may not name credentials; "" if it may.
std::string WhyNotTrusted(const std::string& path, const struct stat& info) {
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return fmt::format("expected a file of root or of user {}, found one of user {}", geteuid(),
                       info.st_uid);
  }
  if (!S_ISREG(info.st_mode)) return "";
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (!error && OnlyTheyCanChange(path, info.st_uid) && OnlyTheyCanChange(real, info.st_uid)) {
    return "";
  }
  return fmt::format(
      "users other than root and user {} may write to it, or to a folder above it (chmod go-w)",
      info.st_uid);
}

}  // namespace

Result<std::string> ReadVirtualFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat info = {};
  if (!file || fstat(file.get(), &info) != 0) {
    return Fail(FromErrno(errno), "virtual_file={}: {}", path, ErrnoText(errno));
  }
  auto text = ReadAll(file);
  if (!text) return Fail(text.error().code, "virtual_file={}: {}", path, text.error().message);
  if (!NamesCredentials(*text)) return text;
  if (const std::string why = WhyNotTrusted(path, info); !why.empty()) {
    return Fail(ErrorCode::kPermissionDenied,
                "virtual_file={}: it says where credentials are sent: {}", path, why);
  }
  return text;
}

Result<void> AddVirtualFile(std::string_view text, std::string_view path,
                            std::vector<VirtualPrefix>& prefixes) {
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string> words = WordsOf(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words.front().starts_with('#')) continue;
    const auto added = ParseLine(words).and_then(
        [&](VirtualPrefix prefix) { return Add(std::move(prefix), prefixes); });
    if (!added) {
      return Fail(ErrorCode::kInvalidArgument, "{}:{}: {}", path, line, added.error().message);
    }
  }
  return {};
}

}  // namespace zarrfs
