/* Each line has its bit in the registers of a BCM2835, and setting one touches no other. The
 * addresses and bits are those of "BCM2835 ARM Peripherals", table 6-1. */
#include "bench/gpio_lines.h"
#include "tests/check.h"

static uint32_t block[1024];

static void only(unsigned address, uint32_t value)
{
	for (unsigned i = 0; i < 1024; i++)
		CHECK(block[i] == (i == address / 4 ? value : 0));
	block[address / 4] = 0;
}

int main(void)
{
	struct gpio_registers r = {.words = block, .out = 17, .in = 27};

	gpio_registers_set(&r, true);
	only(0x1c, 1u << 17); /* GPSET0 */
	gpio_registers_set(&r, false);
	only(0x28, 1u << 17); /* GPCLR0 */
	r.out = 53;
	gpio_registers_set(&r, true);
	only(0x20, 1u << 21); /* GPSET1 */
	gpio_registers_set(&r, false);
	only(0x2c, 1u << 21); /* GPCLR1 */

	CHECK(!gpio_registers_get(&r));
	block[0x34 / 4] = 1u << 27; /* GPLEV0 */
	CHECK(gpio_registers_get(&r));
	block[0x34 / 4] = ~(1u << 27);
	CHECK(!gpio_registers_get(&r));
	r.in = 31;
	CHECK(gpio_registers_get(&r));
	r.in = 32;
	CHECK(!gpio_registers_get(&r));
	block[0x38 / 4] = 1; /* GPLEV1 */
	CHECK(gpio_registers_get(&r));
	return 0;
}
