// SPDX-License-Identifier: Apache-2.0
// Where metrics go: prometheus-cpp's server over civetweb, or a file.
#include <CivetServer.h>
#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <rocksieve/metrics_exporter.h>

#include "plugin/exporter/start.h"

namespace rocksieve {
namespace {

// While it lives, threads that are started block all signals: the process is not ours.
class QuietThreads {
 public:
  QuietThreads() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~QuietThreads() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  QuietThreads(const QuietThreads&) = delete;
  QuietThreads& operator=(const QuietThreads&) = delete;

 private:
  sigset_t before_;
};

std::mutex one_guard;
std::mutex mutex;  // guards what follows
std::condition_variable begun_changed;
int begun = 0;
struct sigaction before;

// Remembers what SIGPIPE does, and has that again when it ends. Each thread of civetweb makes the
// process ignore it, as its first act; none needs that, for they block it. One at a time.
class SigpipeGuard {
 public:
  SigpipeGuard() : one_(one_guard) {
    const std::lock_guard<std::mutex> lock(mutex);
    begun = 0;
    sigaction(SIGPIPE, nullptr, &before);
  }
  ~SigpipeGuard() {
    const std::lock_guard<std::mutex> lock(mutex);
    sigaction(SIGPIPE, &before, nullptr);
  }

  // Waits until so many threads have begun, a second at most.
  static void WaitForThreads(int threads) {
    std::unique_lock<std::mutex> lock(mutex);
    begun_changed.wait_for(lock, std::chrono::seconds(1), [&] { return begun >= threads; });
  }

  // Called by each thread that has begun: those that come later undo it for themselves.
  static void* ThreadHasBegun(const mg_context*, int) {
    const std::lock_guard<std::mutex> lock(mutex);
    begun++;
    sigaction(SIGPIPE, &before, nullptr);
    begun_changed.notify_all();
    return nullptr;
  }

 private:
  const std::lock_guard<std::mutex> one_;
};

// What a program collects, as prometheus-cpp has it. Thread-safe.
class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(MetricsExporter::Collect collect) : collect_(std::move(collect)) {}

  // Nothing if the program's function throws.
  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<Metric> metrics;
    try {
      const std::lock_guard<std::mutex> lock(mutex_);
      collect_(&metrics);
    } catch (...) {
      return {};
    }
    std::vector<prometheus::MetricFamily> families;
    for (const Metric& metric : metrics) {
      const bool counts = metric.type == Metric::Type::kCounter;
      prometheus::MetricFamily& family = families.emplace_back();
      family.name = metric.name;
      family.help = metric.help;
      family.type = counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
      for (const Metric::Sample& sample : metric.samples) {
        prometheus::ClientMetric& converted = family.metric.emplace_back();
        for (const auto& [name, value] : sample.labels) converted.label.push_back({name, value});
        (counts ? converted.counter.value : converted.gauge.value) = sample.value;
      }
    }
    return families;
  }

 private:
  const MetricsExporter::Collect collect_;
  mutable std::mutex mutex_;  // held while collect_ runs
};

struct ListenAddress {
  std::string host;  // a number: "127.0.0.1", "::1"
  int port = 0;

  bool is_six() const { return host.find(':') != std::string::npos; }
  std::string ToString() const {
    return (is_six() ? "[" + host + "]" : host) + ":" + std::to_string(port);
  }
};

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// The first of a name or number; null, and why, if there is none.
AddressList Resolve(const std::string& host, const std::string& port, std::string* error) {
  addrinfo hints{};
  hints.ai_family = host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (code != 0) *error = gai_strerror(code);
  return {code == 0 ? found : nullptr, &freeaddrinfo};
}

// Of "127.0.0.1:9435" or "[::1]:9435", names of this machine such as localhost too. A sentence if
// the text is no address.
std::string ParseAddress(std::string_view text, ListenAddress* address) {
  const std::string no_address = "\"" + std::string(text) +
                                 "\" is no ADDRESS:PORT to listen on, such as 127.0.0.1:9435 "
                                 "or, for all networks, 0.0.0.0:9435";
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return no_address;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  if (brackets != (host.find(':') != std::string_view::npos)) return no_address;
  int port = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 0 || port > 65535) {
    return no_address;
  }
  std::string why;
  const AddressList found = Resolve(std::string(host), std::string(digits), &why);
  char number[NI_MAXHOST];
  if (found == nullptr || getnameinfo(found->ai_addr, found->ai_addrlen, number, sizeof(number),
                                      nullptr, 0, NI_NUMERICHOST) != 0) {
    return no_address + (why.empty() ? "" : ": " + why);
  }
  *address = {number, port};
  return "";
}

// Why nobody can listen there; empty if one can, unless somebody takes it afterwards.
std::string WhyTaken(const ListenAddress& address) {
  std::string why;
  const AddressList found = Resolve(address.host, std::to_string(address.port), &why);
  if (found == nullptr) return why;
  const int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return std::strerror(errno);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool free =
      bind(listener, found->ai_addr, found->ai_addrlen) == 0 && listen(listener, 1) == 0;
  if (!free) why = std::strerror(errno);
  close(listener);
  return why;
}

// A client that says nothing, or no whole request, holds a worker until it is given up, and scrapes
// wait in line meanwhile: behind 100 such clients who come again at once for 3 seconds, and
// Prometheus waits for 10. Workers cost 20 KB each, and once they have compressed a page, 200 KB.
constexpr int kWorkers = 32;
constexpr int kThreads = kWorkers + 1;  // and one that takes connections
constexpr char kSilenceMillis[] = "1000";

// civetweb reads all of a body that is announced before it hangs up, as long as a byte of it comes
// now and then: a client could hold a worker for ever. Nobody scrapes with a body. 0: go on.
int RefuseBody(mg_connection* connection) {
  const bool has_body = mg_get_request_info(connection)->content_length > 0 ||
                        mg_get_header(connection, "Transfer-Encoding") != nullptr;
  if (!has_body) return 0;
  constexpr int kTooLarge = 413;
  mg_send_http_error(connection, kTooLarge, "%s", "requests here have no body\n");
  return kTooLarge;
}

constexpr std::chrono::seconds kFilePeriod(15);
constexpr std::string_view kFileSuffix = ".prom";  // node_exporter reads no others

}  // namespace

// Shows metrics while it lives.
class MetricsExporter::Outlet {
 public:
  virtual ~Outlet() = default;

  std::string target;  // as MetricsExporter has it
};

class MetricsExporter::HttpOutlet final : public Outlet {
 public:
  // A sentence if the address cannot be had; else empty.
  std::string Start(const std::string& text, std::shared_ptr<prometheus::Collectable> collector) {
    ListenAddress address;
    const std::string error = ParseAddress(text, &address);
    if (!error.empty()) return error;
    const std::string taken = WhyTaken(address);  // the server would only say that it failed
    if (!taken.empty()) {
      return "cannot listen on " + text + ": " + taken +
             "; name an address of this machine and a port that is free";
    }
    const QuietThreads quiet;
    const SigpipeGuard sigpipe;
    CivetCallbacks callbacks;
    callbacks.init_thread = SigpipeGuard::ThreadHasBegun;
    callbacks.begin_request = RefuseBody;
    try {
      exposer_ = std::make_unique<prometheus::Exposer>(
          std::vector<std::string>{"listening_ports", address.ToString(), "num_threads",
                                   std::to_string(kWorkers), "request_timeout_ms", kSilenceMillis},
          &callbacks);
      SigpipeGuard::WaitForThreads(kThreads);
      collector_ = std::move(collector);
      exposer_->RegisterCollectable(collector_);
      const std::vector<int> ports = exposer_->GetListeningPorts();
      if (!ports.empty()) address.port = ports.front();
    } catch (const std::exception& exception) {
      return "cannot serve metrics on " + text + ": " + exception.what() +
             (address.is_six() ? " Debian's civetweb has no IPv6: name an address of IPv4." : "");
    }
    target = address.ToString();
    return "";
  }

 private:
  std::shared_ptr<prometheus::Collectable> collector_;  // prometheus-cpp does not own it
  std::unique_ptr<prometheus::Exposer> exposer_;  // the first to go
};

// A thread that writes the file.
class MetricsExporter::FileOutlet final : public Outlet {
 public:
  // Likewise, if the file cannot be written now. If it cannot be later, as on a full disk, it stays
  // as it was, and is tried again.
  std::string Start(const std::string& path, std::shared_ptr<prometheus::Collectable> collector) {
    target = path;
    collector_ = std::move(collector);
    const std::string error = Write();
    if (!error.empty()) {
      return "cannot write " + path + ": " + error +
             "; name a file in a directory that is there and that the program may write to";
    }
    const QuietThreads quiet;
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::exception& exception) {
      return "cannot start a thread that writes " + path + ": " + exception.what();
    }
    return "";
  }

  ~FileOutlet() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    stop_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stop_.wait_for(lock, kFilePeriod, [this] { return stopped_; })) {
      lock.unlock();
      Write();
      lock.lock();
    }
  }

  // Beside it, under a name that node_exporter passes by, and then in its place.
  std::string Write() const {
    const std::string text = prometheus::TextSerializer().Serialize(collector_->Collect());
    const std::string unfinished = target + "." + std::to_string(getpid()) + ".tmp";
    std::remove(unfinished.c_str());  // of a process that was killed
    // Never through a link that somebody else has put there.
    std::FILE* const file = std::fopen(unfinished.c_str(), "wxe");
    if (file == nullptr) return std::strerror(errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    int error = written ? 0 : errno;
    if (std::fclose(file) != 0 && error == 0) error = errno;
    if (error == 0 && std::rename(unfinished.c_str(), target.c_str()) != 0) error = errno;
    if (error == 0) return "";
    std::remove(unfinished.c_str());
    return std::strerror(error);
  }

  std::shared_ptr<prometheus::Collectable> collector_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;  // guarded by mutex_
  std::thread thread_;
};

MetricsExporter::MetricsExporter(std::unique_ptr<Outlet> outlet) : outlet_(std::move(outlet)) {}
MetricsExporter::~MetricsExporter() = default;

const std::string& MetricsExporter::target() const { return outlet_->target; }

std::string MetricsExporter::StartOrSay(const std::string& target, Collect collect,
                                        std::unique_ptr<MetricsExporter>* exporter) {
  const auto collector = std::make_shared<Collector>(std::move(collect));
  const auto start = [&](auto outlet) {
    std::string error = outlet->Start(target, collector);
    if (error.empty()) exporter->reset(new MetricsExporter(std::move(outlet)));
    return error;
  };
  if (target.find('/') == std::string::npos) return start(std::make_unique<HttpOutlet>());
  if (target[0] == '/' && target.size() > kFileSuffix.size() &&
      target.compare(target.size() - kFileSuffix.size(), kFileSuffix.size(), kFileSuffix) == 0) {
    return start(std::make_unique<FileOutlet>());
  }
  return "\"" + target + "\" is neither ADDRESS:PORT nor a file /DIR/NAME" +
         std::string(kFileSuffix) + ", by its whole path";
}

// What the plugin starts for ROCKSIEVE_METRICS.
struct ProcessExporter {
  static std::string Start(const char* target, void (*collect)(std::vector<Metric>*)) {
    std::unique_ptr<MetricsExporter> exporter;
    std::string error = MetricsExporter::StartOrSay(target, collect, &exporter);
    exporter.release();  // until the process ends
    return error;
  }
};

}  // namespace rocksieve

extern "C" ROCKSIEVE_EXPORT void rocksieve_start_process_exporter(
    const char* target, void (*collect)(std::vector<rocksieve::Metric>*), std::string* error) {
  try {
    const std::string why = rocksieve::ProcessExporter::Start(target, collect);
    if (!why.empty()) *error = why;
  } catch (const std::exception& exception) {
    *error = exception.what();
  }
}
