# SPDX-License-Identifier: Apache-2.0
# Read by ./run, for ./run test --languages and the packages for other languages.

# What makes packages for the languages, and tries them. Tools that are there already are taken, from
# wherever they are.
need_languages() {
  need g++ cmake ninja-build libxxhash-dev python3 ca-certificates
  case ,$1, in
    *,java,*) { command -v javac && command -v mvn; } >/dev/null || need openjdk-17-jdk-headless maven ;;
  esac
  case ,$1, in
    *,node,*) { command -v node && command -v npm; } >/dev/null || need nodejs npm; need binutils ;;
  esac
  case ,$1, in
    *,go,*) need "${filter_packages[@]}"; command -v go >/dev/null || need golang ;;
  esac
  case ,$1, in
    *,python,* | *,engines,*) need_build; need python3-venv ;;
  esac
  case ,$1, in
    *,engines,*) command -v java >/dev/null || need openjdk-17-jre-headless ;;
  esac
  case ,$1, in
    # The cargo that browsers are built with; that of the package cargo is too old for rocksdb 0.25.
    *,rust,*) command -v cargo >/dev/null || need cargo-web rustc-web; need libclang-dev ;;
  esac
}

test_languages() {
  need_languages "$1"
  # shellcheck disable=SC2086  # one word for each
  exec tests/suites/languages.py ${1//,/ }
}

package_language() {
  need_languages "$1"
  case $1 in
    python) exec lib/python/make_package.py ;;
    *) exec "plugin/$1/make_package.py" ;;
  esac
}
