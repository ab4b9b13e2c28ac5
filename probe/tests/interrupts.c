/* The lines of /proc/interrupts: counts go by the CPU that the heading names, also where CPUs are
 * missing; lines without a number are passed over; a name is found as a whole word. */
#include "net/interface.h"
#include "tests/check.h"

#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>

static const char text[] =
	"           CPU0       CPU2       CPU11\n"
	" 38:          1      23470          7 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n"
	" 39:         10         20         30  GICv2 189 Level     eth0, eth1\n"
	"NMI:          5          5          5   Non-maskable interrupts\n"
	"ERR:          0\n"
	"129:          3\n";

struct seen {
	int lines;
	uint64_t sum[4];
};

static void each(int irq, const uint64_t *counts, const char *rest, void *context)
{
	struct seen *s = context;

	s->lines++;
	if (irq == 38) {
		CHECK(counts[0] == 1 && counts[1] == 0 && counts[2] == 23470 && counts[11] == 7);
		CHECK(interrupts_has_word(rest, "virtio2"));
	} else if (irq == 39) {
		CHECK(counts[11] == 30 && interrupts_has_word(rest, "eth1"));
	} else {
		CHECK(irq == 129 && counts[0] == 3 && counts[2] == 0 && *rest == '\0');
	}
}

/* A socket that would use the default route; nothing is sent. */
static void check_this_system(void)
{
	static struct interface i;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, "198.51.100.1", &to.sin_addr);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return; /* no network here */
	interface_find(&i, fd);
	CHECK(i.name[0] && strcmp(i.name, "lo") != 0 && !i.same_machine);
	for (int k = 0; k < i.irq_count; k++)
		CHECK(i.irqs[k] >= 0);
	CHECK(i.irq_count > 0 || interface_cpu(&i) == -1);
	close(fd);
}

int main(void)
{
	struct seen s = {0};
	FILE *file = tmpfile();

	CHECK(file && fwrite(text, 1, sizeof(text) - 1, file) == sizeof(text) - 1);
	CHECK(fflush(file) == 0 && lseek(fileno(file), 0, SEEK_SET) == 0);
	interrupts_read(fileno(file), each, &s);
	CHECK(s.lines == 3);
	interrupts_read(fileno(file), each, &s); /* nothing is left, nothing is kept */
	CHECK(s.lines == 3);

	CHECK(interrupts_has_word("eth0", "eth0"));
	CHECK(interrupts_has_word("mlx5-eth0-rx-0", "eth0"));
	CHECK(interrupts_has_word("eth01 eth0:mac", "eth0"));
	CHECK(interrupts_has_word("xhci-hcd:usb1", "usb1"));
	CHECK(!interrupts_has_word("eth01", "eth0"));
	CHECK(!interrupts_has_word("veth0", "eth0"));
	CHECK(!interrupts_has_word("virtio20-input.0", "virtio2"));
	CHECK(!interrupts_has_word("", "eth0"));
	check_this_system();
	return 0;
}
