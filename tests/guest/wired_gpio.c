/* A GPIO chip of eight lines, of which 0 is joined to 1 and 2 to 3: for kernels that have no
 * simulated one. To the kernel it is a Silicon Labs CP2112, which /dev/uhid lets a program be; its
 * reports are described in that chip's application note AN495. The kernel's driver looks at the
 * levels by itself every few milliseconds, and makes interrupts of what has changed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/uhid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CONFIGURE = 2, GET = 3, SET = 4, VERSION = 5, BUS = 6 };

/* HID 1.11, 6.2.2: feature reports of 4, 1, 2, 2 and 13 bytes, of the vendor's own meaning. */
#define REPORT(id, bytes) 0x85, (id), 0x95, (bytes), 0x09, 0x01, 0xb1, 0x02
static const uint8_t descriptor[] = {
	0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08,
	REPORT(CONFIGURE, 4), REPORT(GET, 1), REPORT(SET, 2), REPORT(VERSION, 2), REPORT(BUS, 13),
	0xc0,
};

static uint8_t outputs, latch; /* a bit for each line */

static uint8_t levels(void)
{
	uint8_t driven = latch & outputs;

	return driven | (driven & 0x05) << 1; /* the wires */
}

static int say(int fd, const struct uhid_event *event)
{
	return write(fd, event, sizeof(*event)) < 0 ? -1 : 0;
}

static int plug_in(int fd)
{
	struct uhid_event event = {.type = UHID_CREATE2};
	struct uhid_create2_req *create = &event.u.create2;

	strcpy((char *)create->name, "wired");
	memcpy(create->rd_data, descriptor, sizeof(descriptor));
	create->rd_size = sizeof(descriptor);
	create->bus = 3; /* USB */
	create->vendor = 0x10c4;
	create->product = 0xea90;
	return say(fd, &event);
}

static int answer_get(int fd, const struct uhid_get_report_req *asked)
{
	struct uhid_event event = {.type = UHID_GET_REPORT_REPLY};
	struct uhid_get_report_reply_req *reply = &event.u.get_report_reply;

	reply->id = asked->id;
	reply->data[0] = asked->rnum;
	switch (asked->rnum) {
	case CONFIGURE:
		reply->data[1] = outputs;
		reply->size = 5;
		break;
	case GET:
		reply->data[1] = levels();
		reply->size = 2;
		break;
	case VERSION:
		reply->data[1] = 0x0c;
		reply->data[2] = 2;
		reply->size = 3;
		break;
	case BUS:
		reply->size = 14;
		break;
	default:
		reply->err = EIO;
	}
	return say(fd, &event);
}

static int answer_set(int fd, const struct uhid_set_report_req *asked)
{
	struct uhid_event event = {.type = UHID_SET_REPORT_REPLY};

	event.u.set_report_reply.id = asked->id;
	if (asked->data[0] == CONFIGURE)
		outputs = asked->data[1];
	else if (asked->data[0] == SET)
		latch = (latch & ~asked->data[2]) | (asked->data[1] & asked->data[2]);
	return say(fd, &event);
}

int main(void)
{
	struct uhid_event event;
	int fd = open("/dev/uhid", O_RDWR);

	if (fd < 0 || plug_in(fd) < 0) {
		perror("/dev/uhid");
		return 1;
	}
	while (read(fd, &event, sizeof(event)) > 0)
		if ((event.type == UHID_GET_REPORT && answer_get(fd, &event.u.get_report) < 0) ||
		    (event.type == UHID_SET_REPORT && answer_set(fd, &event.u.set_report) < 0))
			break;
	perror("/dev/uhid");
	return 1;
}
