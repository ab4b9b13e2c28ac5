SUMMARY = "The probe of Benchvise: measures a board and reads its state"
DESCRIPTION = "bvprobe measures memory, scheduling, system calls, network, storage and GPIO of a \
board. Benchvise puts it on a board by itself; this recipe is for images that are measured without \
a network, and for ptest."
HOMEPAGE = "https://github.com/benchvise/benchvise"
SECTION = "devel"
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://${BENCHVISE_SOURCE}/LICENSE;md5=27dd3a9ffb9db8094013eb1d009f36d8"

SRC_URI = "file://run-ptest"

inherit externalsrc ptest

EXTERNALSRC = "${BENCHVISE_SOURCE}/probe"
EXTERNALSRC_BUILD = "${WORKDIR}/build"

EXTRA_OEMAKE = "-C ${S} 'CC=${CC}' 'CFLAGS=${CFLAGS}' 'LDFLAGS=${LDFLAGS}' OUTPUT=${B} \
    PREFIX=${prefix} LIBEXEC=${libexecdir}/benchvise"

do_compile() {
    oe_runmake
}

do_install() {
    oe_runmake DESTDIR=${D} install
}
