include $(sort $(wildcard $(BR2_EXTERNAL_BENCHVISE_PATH)/package/*/*.mk))
