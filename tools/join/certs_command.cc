#include "tools/command/command.h"

#include <iostream>
#include <memory>
#include <string>

#include "tools/join/certificates.h"

namespace rocksieve::tools {
namespace {

int Run(CertificateOptions options) {
  if (options.names.empty()) options.names = {"localhost", "127.0.0.1", "::1"};
  const absl::Status status = MakeCertificates(options);
  if (!status.ok()) {
    std::cerr << "rocksieve certs: " << status.message() << "\n";
    return kCannotRun;
  }
  std::cout << options.directory << "/server and " << options.directory
            << "/client are for the two sides, for " << options.days
            << " days: copy each to where it is needed.\n"
            << options.directory
            << "/authority/ca.key signs more of them: keep it here, or delete it.\n";
  return kDone;
}

}  // namespace

Command AddCertsCommand(CLI::App* parent) {
  const auto options = std::make_shared<CertificateOptions>();
  CLI::App* parser = AddParser(
      parent,
      {.name = "certs",
       .summary = "certificates for serve and join, for trying things out",
       .description = "Makes an authority and a certificate and key for each of server and "
                      "client, which --certs of both takes. Overwrites nothing.",
       .exit_codes = "0 done; 2 could not run, or bad usage",
       .example = "Example:\n  rocksieve certs --dir=/etc/rocksieve --name=db1.example.org"});
  parser->add_option("--dir", options->directory, "where the files go; made if it is not there")
      ->type_name("DIR")
      ->required()
      ->check(NotEmpty());
  parser
      ->add_option("--name", options->names,
                   "name or IP address of the server; may be repeated. Default: localhost, "
                   "127.0.0.1 and ::1")
      ->type_name("NAME")
      ->check(NotEmpty());
  parser->add_option("--days", options->days, "so long they are valid. Default: 30")
      ->type_name("N")
      ->check(CLI::Range(1, 3650));
  return {parser, [options] { return Run(*options); }};
}

}  // namespace rocksieve::tools
