#include "zarrcore/net/remote_source.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "zarrcore/base/number_text.h"
#include "zarrcore/base/option_list.h"
#include "zarrcore/base/size_text.h"
#include "zarrcore/net/aws_profile.h"
#include "zarrcore/net/cache_address.h"

namespace zarrfs {
namespace {

constexpr std::string_view kS3 = "s3://";
constexpr std::string_view kGoogle = "gs://";
constexpr std::string_view kAzure = "az://";
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";
constexpr uint64_t kMaxTimeout = 3600;
constexpr uint64_t kMaxConnections = 256;
constexpr uint64_t kMaxListMax = 1'000'000;
constexpr uint64_t kMinDiskCache = 64u << 20;
constexpr uint64_t kMinBandwidth = 64u << 10;

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool SetFlag(std::string_view value, bool& flag) {
  flag = value != "no";
  return value.empty() || value == "yes" || value == "no";
}

bool SetNumber(std::string_view value, uint64_t max, uint64_t& number) {
  number = NumberFrom<uint64_t>(value).value_or(0);
  return number > 0 && number <= max;
}

bool SetSize(std::string_view value, uint64_t min, uint64_t& bytes) {
  const auto size = ParseSize(value);
  bytes = size.value_or(bytes);
  return size >= min;
}

// True if the bucket's name can be the first label of a host name that a certificate for "*.HOST"
// covers.
bool IsHostLabel(std::string_view bucket) {
  return bucket.size() >= 3 && bucket.size() <= 63 && bucket.front() != '-' &&
         std::ranges::all_of(bucket, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

// Removes trailing slashes.
std::string_view WithoutSlashes(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

// Checks that an http(s) address contains nothing secret, because addresses appear in command
// lines, in the log and in the mount table.
Result<void> CheckUrl(std::string_view url) {
  const size_t host = url.find("://") + 3;
  const std::string_view authority = url.substr(host, url.find('/', host) - host);
  const size_t at = authority.rfind('@');
  if (at != authority.npos) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "{}…: no user name or password in an address, where others can see it: use ~/.netrc",
        url.substr(0, host));
  }
  if (const size_t query = url.find_first_of("?#"); query != url.npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}…: no '{}' in an address, where others can see it: write what follows a '?' "
                "into a file, and name that with query=FILE",
                url.substr(0, query), url[query]);
  }
  if (authority.empty() || authority.front() == ':') {
    return Fail(ErrorCode::kInvalidArgument, "{}: no host in this address", url);
  }
  const auto is_no_text = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
  };
  if (std::ranges::any_of(url, is_no_text)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: blanks in an address are written %20", url);
  }
  return {};
}

// Names the scheme of an address whose scheme is not supported; "" if the address has no scheme.
std::string UnknownScheme(std::string_view source) {
  const size_t end = source.find("://");
  return end == source.npos ? "" : fmt::format("unknown scheme '{}://'; ", source.substr(0, end));
}

// Advice on an address whose scheme only other programs support; "" for any other address.
std::string HintForScheme(std::string_view source) {
  constexpr std::pair<std::string_view, std::string_view> kHints[] = {
      {"hf://",
       "; for Hugging Face, https://huggingface.co/datasets/OWNER/NAME/resolve/main/PATH with "
       "redirects=follow"},
      {"file://", "; for a folder, its path alone"},
      {"s3a://", "; for this bucket, s3://"},
      {"gcs://", "; for this bucket, gs://"},
      {"abfs", "; for this container, az://ACCOUNT/CONTAINER/PREFIX"},
  };
  for (const auto& [scheme, hint] : kHints) {
    if (source.starts_with(scheme)) return std::string(hint);
  }
  return "";
}

// Google Cloud Storage supports the protocol of S3, at one address for all regions.
void SetGoogle(RemoteOptions& options) {
  if (options.endpoint.empty()) options.endpoint = "https://storage.googleapis.com";
  if (options.region.empty()) options.region = "auto";
}

Result<RemoteSource> ParseS3(std::string_view source, RemoteSource remote) {
  RemoteOptions options = remote.options;
  if (source.starts_with(kGoogle)) SetGoogle(options);
  static_assert(kS3.size() == kGoogle.size());
  const std::string_view place = WithoutSlashes(source.substr(kS3.size()));
  const size_t slash = std::min(place.find('/'), place.size());
  const std::string bucket(place.substr(0, slash));
  if (bucket.empty() || bucket.find_first_of("?#@: \t") != bucket.npos) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected {}BUCKET/PREFIX", source,
                source.substr(0, kS3.size()));
  }
  if (slash < place.size()) remote.prefix = std::string(place.substr(slash + 1)) + '/';
  remote.is_s3 = true;
  remote.region = options.region;
  if (remote.region.empty()) remote.region = Environment("AWS_REGION");
  if (remote.region.empty()) remote.region = Environment("AWS_DEFAULT_REGION");
  remote.is_region_known = !remote.region.empty();
  std::string endpoint = options.endpoint;
  if (endpoint.empty()) endpoint = Environment("AWS_ENDPOINT_URL_S3");
  if (endpoint.empty()) endpoint = Environment("AWS_ENDPOINT_URL");
  const bool is_aws = endpoint.empty();
  remote.is_endpoint_known = !is_aws;
  if (remote.region.empty()) remote.region = "us-east-1";
  if (is_aws) {
    endpoint = fmt::format("https://s3.{}.{}", remote.region, AmazonsDomain(remote.region));
  }
  if (!endpoint.starts_with(kHttp) && !endpoint.starts_with(kHttps)) {
    return Fail(ErrorCode::kInvalidArgument, "endpoint={}: expected https://HOST or http://HOST",
                endpoint);
  }
  if (const auto checked = CheckUrl(endpoint); !checked) return Fail(checked);
  endpoint = WithoutDefaultPort(WithoutSlashes(endpoint));
  const bool is_virtual =
      options.addressing.empty() ? is_aws && IsHostLabel(bucket) : options.addressing == "virtual";
  if (is_virtual) {
    endpoint.insert(endpoint.find("://") + 3, bucket + '.');
    remote.list_url = endpoint;
  } else {
    remote.list_url = endpoint + '/' + PercentEncode(bucket);
  }
  remote.url = std::string(WithoutSlashes(remote.list_url + '/' + PercentEncode(remote.prefix)));
  return remote;
}

// Azure Blob Storage is used like a web server. Only its listings have their own protocol, which is
// not supported.
Result<RemoteSource> ParseAzure(std::string_view source, RemoteSource remote) {
  const std::string_view place = WithoutSlashes(source.substr(kAzure.size()));
  const size_t slash = std::min(place.find('/'), place.size());
  const std::string_view account = place.substr(0, slash);
  const std::string_view path = place.substr(std::min(slash + 1, place.size()));
  if (!IsHostLabel(account) || path.empty() || path.starts_with('/')) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected az://ACCOUNT/CONTAINER/PREFIX", source);
  }
  const std::string& endpoint = remote.options.endpoint;
  if (!endpoint.empty() && !endpoint.starts_with(kHttp) && !endpoint.starts_with(kHttps)) {
    return Fail(ErrorCode::kInvalidArgument, "endpoint={}: expected https://HOST or http://HOST",
                endpoint);
  }
  const std::string host = endpoint.empty()
                               ? fmt::format("https://{}.blob.core.windows.net", account)
                               : fmt::format("{}/{}", WithoutSlashes(endpoint), account);
  if (const auto checked = CheckUrl(host); !checked) return Fail(checked);
  remote.url = WithoutDefaultPort(host + '/' + PercentEncode(path));
  return remote;
}

}  // namespace

std::string_view AmazonsDomain(std::string_view region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

std::string WithoutDefaultPort(std::string_view url) {
  const size_t host = url.find("://") + 3;
  const size_t slash = std::min(url.find('/', host), url.size());
  const std::string_view port = url.starts_with(kHttps) ? ":443" : ":80";
  std::string_view authority = url.substr(0, slash);
  if (authority.ends_with(port)) authority.remove_suffix(port.size());
  return std::string(authority) + std::string(url.substr(slash));
}

bool SetRemoteOption(std::string_view name, std::string_view value, RemoteOptions& options) {
  const auto set_text = [&](std::string& text) {
    text = value;
    return !value.empty();
  };
  // The path is made absolute, because the process that reads the file may have another working
  // directory.
  const auto set_file = [&](std::string& file) {
    std::error_code ignored;
    file = std::filesystem::absolute(value, ignored);
    return !value.empty();
  };
  if (name == "endpoint") return set_text(options.endpoint);
  if (name == "region") return set_text(options.region);
  if (name == "profile") return set_text(options.profile);
  if (name == "headers") return set_file(options.headers_file);
  if (name == "list") return set_file(options.list_file);
  if (name == "query") return set_file(options.query_file);
  if (name == "disk_cache") return set_file(options.disk_cache);
  if (name == "disk_cache_size") return SetSize(value, kMinDiskCache, options.disk_cache_size);
  if (name == "bandwidth") return SetSize(value, kMinBandwidth, options.bandwidth);
  if (name == "via") return AddCacheAddress(value, options.caches);
  if (name == "addressing") {
    options.addressing = value == "auto" ? "" : value;
    return value == "auto" || value == "path" || value == "virtual";
  }
  if (name == "absent") {
    options.forbidden_is_absent = value == "403";
    return value == "403" || value == "404";
  }
  if (name == "redirects") {
    options.follows_redirections = value == "follow";
    return value == "follow" || value == "no";
  }
  if (name == "anonymous") return SetFlag(value, options.anonymous);
  if (name == "requester_pays") return SetFlag(value, options.requester_pays);
  if (name == "timeout") return SetNumber(value, kMaxTimeout, options.timeout);
  if (name == "list_max") return SetNumber(value, kMaxListMax, options.list_max);
  if (name == "connections") return SetNumber(value, kMaxConnections, options.connections);
  return false;
}

Result<RemoteOptions> ParseRemoteOptions(std::string_view list, bool may_have_others) {
  RemoteOptions options;
  for (const std::string& text : SplitOptions(list)) {
    const std::string_view word = text;
    const std::string_view name = NameOfOption(word);
    const std::string_view value = word.substr(std::min(name.size() + 1, word.size()));
    if (!SetRemoteOption(name, value, options) && !may_have_others) {
      return Fail(ErrorCode::kInvalidArgument,
                  "-o {}: unknown option or invalid value (see zarrfs --help)", word);
    }
  }
  return options;
}

void ReadSecrets(RemoteSource& source) {
  if (!source.secrets.are_read) source.secrets = ReadSecretFiles(source.options);
}

bool SetSecretsOfAll(std::vector<SecretTexts> secrets, RemoteSource& source) {
  if (secrets.size() != 1 + source.prefixes.size()) return false;
  auto next = secrets.begin();
  ForEachOrigin(source, [&](RemoteSource& origin) { origin.secrets = std::move(*next++); });
  return true;
}

bool IsBucket(std::string_view source) {
  return source.starts_with(kS3) || source.starts_with(kGoogle);
}

bool IsRemote(std::string_view source) {
  return IsBucket(source) || source.starts_with(kAzure) || source.starts_with(kHttp) ||
         source.starts_with(kHttps);
}

Result<RemoteSource> ParseRemoteSource(std::string_view source, const RemoteOptions& options) {
#ifndef ZARRFS_REMOTE
  if (IsRemote(source)) {
    return Fail(ErrorCode::kUnsupported,
                "{}: this program was built without libcurl: it reads local folders only", source);
  }
#endif
  RemoteSource remote;
  remote.name = WithoutSlashes(source);
  remote.address = source;
  remote.options = options;
  if (IsBucket(source)) return ParseS3(source, std::move(remote));
  if (source.starts_with(kAzure)) return ParseAzure(source, std::move(remote));
  if (!IsRemote(source)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: {}expected a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, "
                "az://ACCOUNT/CONTAINER/PREFIX, or https://HOST/PATH{}",
                source, UnknownScheme(source), HintForScheme(source));
  }
  if (const auto checked = CheckUrl(source); !checked) return Fail(checked);
  remote.url = WithoutDefaultPort(WithoutSlashes(source));
  return remote;
}

namespace {

// True if the options of a prefix in a bucket require signed requests.
bool SayWhoAsks(const VirtualPrefix& prefix, const RemoteOptions& options) {
  const auto words = SplitOptions(prefix.options);
  return !options.profile.empty() || options.requester_pays ||
         std::ranges::find(words, "anonymous=no") != words.end();
}

Result<RemoteSource> ParsePrefix(const VirtualPrefix& prefix, const RemoteOptions& of_store) {
  auto given = ParseRemoteOptions(prefix.options, /*may_have_others=*/false);
  if (!given) return Fail(given);
  RemoteOptions options = *std::move(given);
  options.anonymous |= !SayWhoAsks(prefix, options);
  options.timeout = of_store.timeout;
  std::string address = prefix.Text();
  if (prefix.scheme == VirtualScheme::kS3) {
    address = fmt::format("{}{}/", kS3, prefix.authority);
    for (const std::string& folder : prefix.folders) address += folder + '/';
  }
  auto remote = ParseRemoteSource(address, options);
  if (!remote) return remote;
  remote->name = WithoutSlashes(prefix.Text());
  // Marks region and endpoint as known, so ~/.aws is not read for an unsigned prefix without a
  // profile.
  if (options.anonymous && options.profile.empty()) {
    remote->is_region_known = remote->is_endpoint_known = true;
  }
  remote->is_virtual = true;
  return remote;
}

}  // namespace

Result<RemoteSource> ParseRemoteSource(std::string_view source, const RemoteOptions& options,
                                       std::span<const VirtualPrefix> prefixes) {
  RemoteSource fetched;
  if (IsRemote(source)) {
    auto remote = ParseRemoteSource(source, options);
    if (!remote) return remote;
    fetched = *std::move(remote);
  } else {
    fetched.name = source;
    fetched.options.timeout = options.timeout;
    fetched.options.connections = options.connections;
    fetched.options.bandwidth = options.bandwidth;
    fetched.options.disk_cache = options.disk_cache;
    fetched.options.disk_cache_size = options.disk_cache_size;
  }
  for (const VirtualPrefix& prefix : prefixes) {
    if (prefix.is_local()) continue;
    auto remote = ParsePrefix(prefix, options);
    if (!remote)
      return Fail(remote.error().code, "virtual={}: {}", prefix.Text(), remote.error().message);
    fetched.prefixes.push_back(*std::move(remote));
  }
  return fetched;
}

RemoteSource WithProfile(const RemoteSource& source) {
  if (!source.is_s3 || (source.is_region_known && source.is_endpoint_known)) return source;
  AwsProfile profile = ReadAwsProfile(source.options.profile);
  RemoteOptions options = source.options;
  if (!source.is_region_known) options.region = profile["region"];
  if (!source.is_endpoint_known) options.endpoint = profile["endpoint_url"];
  auto remote = ParseRemoteSource(source.address, options);
  if (remote) {
    remote->name = source.name;
    remote->is_virtual = source.is_virtual;
    remote->secrets = source.secrets;
    remote->prefixes = source.prefixes;
    return *std::move(remote);
  }
  RemoteSource wrong = source;
  wrong.problem = "the profile in ~/.aws/config: " + remote.error().message;
  return wrong;
}

std::string PercentEncode(std::string_view text, bool with_slashes) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    const bool stays = IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (stays || (c == '/' && !with_slashes)) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string PercentDecode(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* const digits = text.data() + at + 1;
    if (text[at] == '%' && at + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      decoded += static_cast<char>(byte);
      at += 2;
    } else {
      decoded += plus_is_blank && text[at] == '+' ? ' ' : text[at];
    }
  }
  return decoded;
}

}  // namespace zarrfs
