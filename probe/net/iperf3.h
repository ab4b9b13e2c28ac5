/* Sessions with a stock iperf3 server, by its own control protocol. */
#ifndef BV_IPERF3_H
#define BV_IPERF3_H

#include "net/client.h"

#define IPERF3_PORT "5201"

/* As client_open(), client_batch() and client_close(); tests are NET_TCP and NET_UDP, in one
 * direction. Such a server tells what it received only when a session ends: sent by TCP, what its
 * kernel acknowledges is counted instead, and each batch of sent datagrams is a session. */
int iperf3_open(struct client *c);
int iperf3_batch(struct client *c, unsigned ramp_ms, unsigned window_ms);
void iperf3_close(struct client *c);

#endif
