/* ADDRESS, ADDRESS:PORT, [V6]:PORT and a bare V6 address are taken apart; all else is refused. */
#include "net/address.h"
#include "tests/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static void is(const char *text, const char *host, const char *port)
{
	struct endpoint e;

	CHECK(endpoint_parse(&e, text, "7") == 0);
	CHECK_TEXT(e.host, host);
	CHECK_TEXT(e.port, port);
}

static void is_none(const char *text)
{
	struct endpoint e;

	CHECK(endpoint_parse(&e, text, "7") < 0);
}

int main(void)
{
	char longest[300], text[ADDRESS_TEXT];
	struct address v4 = {.length = sizeof(struct sockaddr_in)};
	struct address v6 = {.length = sizeof(struct sockaddr_in6)}, other;

	is("10.0.0.1", "10.0.0.1", "7");
	is("10.0.0.1:5210", "10.0.0.1", "5210");
	is("host.example", "host.example", "7");
	is("host.example:1", "host.example", "1");
	is("[fe80::1%eth0]:65535", "fe80::1%eth0", "65535");
	is("[::1]", "::1", "7");
	is("::1", "::1", "7");
	is("fe80::1:5210", "fe80::1:5210", "7");

	is_none("");
	is_none(":5210");
	is_none("host:");
	is_none("host:0");
	is_none("host:65536");
	is_none("host:123456");
	is_none("host:12x");
	is_none("host:-1");
	is_none("[::1");
	is_none("[::1]5210");
	is_none("[]:5210");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	is_none(longest);

	v4.socket.ss_family = AF_INET;
	v6.socket.ss_family = AF_INET6;
	inet_pton(AF_INET, "192.0.2.9", &((struct sockaddr_in *)&v4.socket)->sin_addr);
	inet_pton(AF_INET6, "2001:db8::9", &((struct sockaddr_in6 *)&v6.socket)->sin6_addr);
	address_set_port(&v4, 80);
	address_set_port(&v6, 65535);
	address_text(&v4, text);
	CHECK_TEXT(text, "192.0.2.9:80");
	address_text(&v6, text);
	CHECK_TEXT(text, "[2001:db8::9]:65535");
	other = v4;
	address_set_port(&other, 81);
	CHECK(address_port(&other) == 81 && address_same_host(&v4, &other));
	CHECK(!address_same_host(&v4, &v6));
	((struct sockaddr_in6 *)&v6.socket)->sin6_scope_id = 3;
	address_text(&v6, text);
	CHECK_TEXT(text, "[2001:db8::9%3]:65535");
	return 0;
}
