/* The name of the CPU that is measured, from /proc/cpuinfo of each architecture. */
#include "core/host.h"
#include "tests/check.h"

static const char *model(const char *cpuinfo, int cpu)
{
	static char name[64];

	return host_cpu_model(cpuinfo, cpu, name, sizeof(name)) ? name : "";
}

static const char big_little[] = "processor\t: 0\nBogoMIPS\t: 48.00\nCPU implementer\t: 0x41\n"
				 "CPU part\t: 0xd03\n\n"
				 "processor\t: 4\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n\n"
				 "processor\t: 5\nCPU implementer\t: 0x51\nCPU part\t: 0x800\n\n"
				 "Hardware\t: Some SoC\n";

static const char riscv[] = "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\n"
			    "uarch\t\t: sifive,u74-mc\n";

static const char old_arm[] = "Processor\t: ARMv6-compatible processor rev 7 (v6l)\n"
			      "CPU implementer\t: 0x41\nCPU part\t: 0xb76\n\n"
			      "Hardware\t: BCM2708\n";

int main(void)
{
	CHECK_TEXT(model("processor\t: 0\nmodel name\t: AMD EPYC\n", 0), "AMD EPYC");
	CHECK_TEXT(model("processor : 0\nmodel name : a\n\nprocessor : 1\nmodel name : b\n", 1),
		   "b");
	CHECK_TEXT(model("processor : 0\nmodel name : a\n", 7), "a");
	CHECK_TEXT(model(big_little, 0), "Cortex-A53");
	CHECK_TEXT(model(big_little, 4), "Cortex-A72");
	CHECK_TEXT(model(big_little, 5), "implementer 0x51 part 0x800");
	CHECK_TEXT(model(big_little, 9), "Some SoC");
	CHECK_TEXT(model(riscv, 0), "sifive,u74-mc");
	CHECK_TEXT(model(old_arm, 0), "BCM2708");
	CHECK_TEXT(model("processor\t: 0\nisa : rv64gc\n", 0), "rv64gc");
	CHECK_TEXT(model("", 0), "");
	CHECK_TEXT(model("misplaced isa rv64\nmodel name\n: \nisanot : x\n", 0), "");
	return 0;
}
