# SPDX-License-Identifier: Apache-2.0
# Toolchain for ./run test --arch=ARCH: Debian's cross compilers, and qemu-user to run the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${ROCKSIEVE_ARCH})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ROCKSIEVE_ARCH)
set(CMAKE_CXX_COMPILER ${ROCKSIEVE_ARCH}-linux-gnu-g++)
set(CMAKE_C_COMPILER ${ROCKSIEVE_ARCH}-linux-gnu-gcc)
# Static, so that the emulator needs no libraries of the other architecture.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${ROCKSIEVE_ARCH})
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE NEVER)
