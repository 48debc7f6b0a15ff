#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes Debian packages of a build and checks that they are the three expected ones, that they hold every
# installed file once, that they depend on what they need, and that their contents work.
# tests/smoke_packages.sh tries them after a real installation.
#
#   sh tests/check_packages.sh BUILD_FOLDER
set -eu

tests=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
. "$tests/checks.sh"

quietly cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work"
cd "$work"
for package in batkit libbatkit0 libbatkit-dev; do
    [ "$(find . -maxdepth 1 -name "${package}_*.deb" | wc -l)" -eq 1 ] || fail "expected a package $package, found $(ls)"
    mv "${package}"_*.deb $package.deb
    mkdir "$package"
    dpkg-deb --raw-extract $package.deb $package
    (cd $package && find usr -type f -o -type l | sort) >$package.files
done

field() {
    dpkg-deb --field "$1.deb" "$2"
}
for package in batkit libbatkit0 libbatkit-dev; do
    # lintian's limit; dpkg indents each line by a space.
    long=$(field $package Description | grep -n '.\{80\}') && fail "$package: long line of its description: $long"
done
for library in libc6 libcapstone4 libelf1 libdw1 liblzma5 libprotobuf-c1 libxxhash0 libyajl2 libzstd1 libzydis4.0; do
    field batkit Depends | grep -q "\\<$library " || fail "batkit does not depend on $library"
    field libbatkit0 Depends | grep -q "\\<$library " || fail "libbatkit0 does not depend on $library"
done
field libbatkit-dev Depends | grep -qF "libbatkit0 (= $(field libbatkit0 Version))" ||
    fail "libbatkit-dev depends on $(field libbatkit-dev Depends)"
# The static library needs a development package for each library that the shared one needs.
for library in $(readelf --dynamic libbatkit0/usr/lib/*/libbatkit.so.0 libbatkit0/usr/lib/libbatkit.so.0 2>"$work/log" |
    sed -n 's/.*NEEDED.*\[lib\([A-Za-z]*\)[.-].*/\1/p' | tr '[:upper:]' '[:lower:]'); do
    package=lib$library-dev
    [ "$library" != z ] || package=zlib1g-dev
    [ "$library" != protobuf ] || package=libprotobuf-c-dev
    [ "$library" = c ] || [ "$library" = m ] || field libbatkit-dev Depends | grep -q "\\<$package\\>" ||
        fail "libbatkit-dev does not depend on $package"
done
[ "$(cat libbatkit0/DEBIAN/shlibs)" = "libbatkit 0 libbatkit0" ] || fail "shlibs: $(cat libbatkit0/DEBIAN/shlibs)"

# The symbols file names the library's exported symbols, with versions.
library=$(find libbatkit0 -name 'libbatkit.so.0')
nm --dynamic --defined-only --with-symbol-versions "$library" |
    sed 's/.* //; s/@@/@/; s/^\(BATKIT_[0-9.]*\)$/\1@\1/' | sort >exported
sed -n 's/^ \([^ ]*\) .*/\1/p' libbatkit0/DEBIAN/symbols | sort >named
diff exported named >log || fail "the symbols file differs from the exported symbols: $(cat log)"

# Every installed file is in exactly one package.
quietly cmake --install "$build" --prefix "$work/all/usr"
(cd all && find usr -type f -o -type l | grep -v '/LICENSE$' | sort) >installed
sed 's/\.gz$//' batkit.files libbatkit0.files libbatkit-dev.files | sort >packaged
uniq -d packaged | grep . && fail "these files are in two packages"
missing=$(sed 's|/doc/batkit/examples/|/doc/libbatkit-dev/examples/|' installed | sort | comm -23 - packaged)
[ -z "$missing" ] || fail "these files are in no package: $missing"
for package in batkit libbatkit0 libbatkit-dev; do
    for file in copyright changelog.gz changelog.Debian.gz; do
        [ -s "$package/usr/share/doc/$package/$file" ] || fail "$package has no $file"
    done
done

# The packages work when they are unpacked into one folder.
for package in batkit libbatkit0 libbatkit-dev; do
    dpkg-deb --extract $package.deb root
done
fleet=root/usr/share/batkit/fleet
demo=$tests/data/demo
(
    PATH=$work/root/usr/bin:$PATH
    quietly "$fleet/steps/plan.sh" -w fleet -b "$demo/small.bolt" "$demo/small.preagg"
    quietly "$fleet/steps/shard.sh" fleet 1
    quietly "$fleet/steps/settle.sh" fleet
    quietly "$fleet/steps/combine.sh" fleet 1 1
    quietly "$fleet/steps/products.sh" fleet --check-limit=density=0
    quietly battranslate "$demo/small.bolt" -p "$demo/small.preagg" -o small.fdata
) || exit 1
cmp small.fdata fleet/products/small.bolt.fdata || fail "the scripts of a fleet make another profile"
for file in README.md local/run.sh slurm/submit.sh slurm/job.sh slurm/release.sh stream/map.sh stream/combine.sh \
    host/collect.sh host/batkit-collect.service host/batkit-collect.timer; do
    [ -s "$fleet/$file" ] || fail "the package batkit has no fleet/$file"
done
# Without what was made by trying them in the source tree.
(cd "$tests/../examples" && find . \( -name releases -o -name target -o -name 'r[12]' \) -prune -o -type f \
    ! -name sample.json ! -name Cargo.lock ! -name .gitignore -print) >examples
while read -r file; do
    cmp "$tests/../examples/$file" "root/usr/share/doc/libbatkit-dev/examples/$file" ||
        fail "the package libbatkit-dev lacks an example"
done <examples
root/usr/bin/batdump --version | grep -q "^batdump (batkit) " || fail "batdump does not run"
pc=$(find root -name batkit.pc)
grep -qx 'prefix=/usr' "$pc" || fail "batkit.pc: $(cat "$pc")"
cp "$tests/consumer.c" .
# shellcheck disable=SC2046
cc consumer.c $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$work/root/usr" --cflags \
    --libs batkit) -o consumer || fail "the consumer does not compile"
LD_LIBRARY_PATH=$(dirname "$(find root -name libbatkit.so.0)") ./consumer "$tests/data/good/sketch.note" >output
grep -qx "2 hot functions, 1 cold fragments" output || fail "the consumer prints $(cat output)"
echo "$(cd "$work" && ls ./*.deb | tr '\n' ' '): complete, and they work"
