// SPDX-License-Identifier: Apache-2.0
#include "tools/command/command.h"
#include "support/return_if_error.h"

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <rocksieve/metrics_exporter.h>

#include "tools/exporter/watch.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr std::chrono::milliseconds kInterruptLook(100);
constexpr double kFewestMinutes = 0.01, kMostMinutes = 10080;

struct ExporterFlags {
  std::vector<std::string> directories;
  std::string address;
  std::string text_file;
  double minutes = 15;
  bool once = false;
};

Status CheckFlags(const ExporterFlags& flags) {
  const std::set<std::string> distinct(flags.directories.begin(), flags.directories.end());
  if (distinct.size() < flags.directories.size()) {
    return Status::InvalidArgument("a database is named twice: name each --db once");
  }
  if (flags.once && !flags.address.empty()) {
    return Status::InvalidArgument("--once ends after a look, and nobody could scrape --listen");
  }
  if (!flags.once && flags.address.empty() && flags.text_file.empty()) {
    return Status::InvalidArgument(
        "name --listen=ADDRESS:PORT for Prometheus, or --textfile=PATH for node_exporter; or look "
        "--once, and print");
  }
  if (flags.address.find('/') != std::string::npos) {
    return Status::InvalidArgument("--listen=" + flags.address +
                                   " is no ADDRESS:PORT, such as 127.0.0.1:9435; --textfile=PATH "
                                   "writes a file");
  }
  return Status::OK();
}

using Exporters = std::vector<std::unique_ptr<MetricsExporter>>;

Status StartExporter(const std::string& target, const Watch& watch, Exporters* exporters) {
  if (target.empty()) return Status::OK();
  const auto collect = [&watch](std::vector<Metric>* metrics) { *metrics = watch.Metrics(); };
  return MetricsExporter::Start(target, collect, &exporters->emplace_back());
}

std::string WholePath(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

// Looks first, so that the file has something to say as soon as it is there.
Status RunOnce(const ExporterFlags& flags) {
  Watch watch(flags.directories, std::chrono::duration<double>(0));
  watch.LookAtAll();
  if (InterruptSignal() != 0) return Status::Aborted("interrupted");
  if (flags.text_file.empty()) {
    std::cout << PrometheusText(watch.Metrics());
    return Status::OK();
  }
  Exporters exporters;  // writes the file as it begins
  return StartExporter(WholePath(flags.text_file), watch, &exporters);
}

Status WatchUntilInterrupted(const ExporterFlags& flags) {
  Watch watch(flags.directories, std::chrono::duration<double>(60 * flags.minutes));
  Exporters exporters;  // ends before what it shows
  RETURN_IF_ERROR(StartExporter(flags.address, watch, &exporters));
  if (!exporters.empty()) {
    std::cout << "listening on " << exporters.front()->target() << std::endl;
  }
  RETURN_IF_ERROR(StartExporter(WholePath(flags.text_file), watch, &exporters));
  watch.Start();
  while (InterruptSignal() == 0) std::this_thread::sleep_for(kInterruptLook);
  watch.Stop();
  return Status::OK();
}

int RunExporter(const ExporterFlags& flags) {
  Status status = CheckFlags(flags);
  {
    InterruptGuard guard;
    if (status.ok()) status = flags.once ? RunOnce(flags) : WatchUntilInterrupted(flags);
  }
  if (status.IsAborted()) EndByInterruptSignal();
  if (status.ok()) return kDone;  // ended by a signal, and then all is well
  std::cerr << "rocksieve exporter: " << MessageOf(status) << "\n";
  return kCannotRun;
}

}  // namespace

Command AddExporterCommand(Parser* parent) {
  const auto flags = std::make_shared<ExporterFlags>();
  Parser* parser = AddParser(
      parent,
      {.name = "exporter",
       .summary = "metrics of databases for Prometheus",
       .description =
           "Looks at any RocksDB databases from outside, in use or not, as explain and doctor do, "
           "and serves what it saw last at /metrics: filters by level, rates, findings. A scrape "
           "never starts a look. A database that cannot be opened is rocksieve_db_up 0. Neither "
           "TLS nor passwords: listen where only clients that you trust can reach it.",
       .exit_codes = "0 ended by a signal, or done with --once; 2 could not run, or bad usage",
       .example = "Example:\n  rocksieve exporter --db=/var/lib/app/db --listen=127.0.0.1:9435"});
  AddText(parser, "--db", &flags->directories, "DIR", "a database; may be repeated")->required();
  AddText(parser, "--listen", &flags->address, "ADDR",
          "address and port for Prometheus; port 0: any that is free");
  AddText(parser, "--textfile", &flags->text_file, "FILE",
          "a file NAME.prom for node_exporter, written anew every 15 seconds");
  parser
      ->add_option("--every", flags->minutes,
                   "minutes from the end of a look to the next. Default: 15")
      ->type_name("N")
      ->check(Between(kFewestMinutes, kMostMinutes));
  parser->add_flag("--once", flags->once, "look once, write --textfile or print, and end");
  return {parser, [flags] { return RunExporter(*flags); }};
}

}  // namespace rocksieve::tools
