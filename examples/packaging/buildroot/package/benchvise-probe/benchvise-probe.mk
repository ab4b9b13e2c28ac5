################################################################################
#
# benchvise-probe
#
################################################################################

# The checkout that this tree lies in.
BENCHVISE_PROBE_VERSION = 0.2.0
BENCHVISE_PROBE_SITE = $(BR2_EXTERNAL_BENCHVISE_PATH)/../../..
BENCHVISE_PROBE_SITE_METHOD = local
BENCHVISE_PROBE_LICENSE = MIT
BENCHVISE_PROBE_LICENSE_FILES = LICENSE

define BENCHVISE_PROBE_BUILD_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) -C $(@D)/probe $(TARGET_CONFIGURE_OPTS)
endef

define BENCHVISE_PROBE_INSTALL_TARGET_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) -C $(@D)/probe $(TARGET_CONFIGURE_OPTS) \
		DESTDIR=$(TARGET_DIR) PREFIX=/usr install
endef

$(eval $(generic-package))
