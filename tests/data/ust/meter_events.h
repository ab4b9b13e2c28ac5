/* The events of meter.c, in the form that LTTng-UST 2.13 asks for. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER meter

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./meter_events.h"

#if !defined(METER_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define METER_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_ENUM(meter, parity,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("even", 0)
		lttng_ust_field_enum_value("odd", 1)))

LTTNG_UST_TRACEPOINT_EVENT(meter, reading,
	LTTNG_UST_TP_ARGS(int, id, int, number, const char *, text, const float *, volts),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, id, id)
		lttng_ust_field_integer_hex(int, address, number * 17)
		lttng_ust_field_integer(long long, below_zero, -1LL - number)
		lttng_ust_field_enum(meter, parity, int, parity, number & 1)
		lttng_ust_field_string(text, text)
		lttng_ust_field_array(float, volts, volts, 2)
		lttng_ust_field_sequence(char, part, text, size_t, 3)
		lttng_ust_field_float(double, half, number / 2.0)))

#endif

#include <lttng/tracepoint-event.h>
