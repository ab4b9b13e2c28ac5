/* A sink for babeltrace2 that does what an analysis of scheduling does: of the events whose names
 * it is given it reads the time and every field of the payload, and passes the others over.
 * babeltrace2's own command line has no filter for names. Prints how many events it read, and the
 * sum of their times and numbers, so that no reading can be left out.
 *
 *     babeltrace2 --plugin-path=DIR TRACE -c sink.select.fields -p 'names="sched_switch ..."' */
#include <babeltrace2/babeltrace.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 4096 };

struct select {
	bt_message_iterator *messages;
	char *names;
	/* What was decided of each class of events, so that names are compared once a class. */
	struct {
		const bt_event_class *class;
		bool wanted;
	} decided[CLASSES];
	uint64_t events, sum;
};

static bool is_named(const char *names, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = names; (at = strstr(at, name)); at += length)
		if ((at == names || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

static bool wanted(struct select *s, const bt_event_class *class)
{
	size_t slot = ((uintptr_t)class >> 5) % CLASSES;
	const char *name;

	while (s->decided[slot].class && s->decided[slot].class != class)
		slot = (slot + 1) % CLASSES;
	if (!s->decided[slot].class) {
		name = bt_event_class_get_name(class);
		s->decided[slot].class = class;
		s->decided[slot].wanted = name && is_named(s->names, name);
	}
	return s->decided[slot].wanted;
}

static uint64_t read_field(const bt_field *field)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return bt_field_integer_unsigned_get_value(field);
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		return (uint64_t)bt_field_integer_signed_get_value(field);
	if (type == BT_FIELD_CLASS_TYPE_STRING)
		return (uint64_t)(unsigned char)bt_field_string_get_value(field)[0];
	return 0;
}

static void read_event(struct select *s, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	const bt_event_class *class = bt_event_borrow_class_const(event);
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	int64_t ns;

	if (!wanted(s, class))
		return;
	s->events++;
	if (bt_clock_snapshot_get_ns_from_origin(
		    bt_message_event_borrow_default_clock_snapshot_const(message), &ns) == 0)
		s->sum += (uint64_t)ns;
	if (!payload)
		return;
	uint64_t count = bt_field_class_structure_get_member_count(
		bt_field_borrow_class_const(payload));
	for (uint64_t i = 0; i < count; i++)
		s->sum += read_field(
			bt_field_structure_borrow_member_field_by_index_const(payload, i));
}

static bt_component_class_sink_consume_method_status consume(bt_self_component_sink *self)
{
	struct select *s = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
	bt_message_array_const messages;
	uint64_t count;

	switch (bt_message_iterator_next(s->messages, &messages, &count)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		printf("%" PRIu64 " %" PRIu64 "\n", s->events, s->sum);
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_AGAIN;
	default:
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	}
	for (uint64_t i = 0; i < count; i++) {
		if (bt_message_get_type(messages[i]) == BT_MESSAGE_TYPE_EVENT)
			read_event(s, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

static bt_component_class_initialize_method_status
initialize(bt_self_component_sink *self, bt_self_component_sink_configuration *configuration,
	   const bt_value *params, void *data)
{
	const bt_value *names = bt_value_map_borrow_entry_value_const(params, "names");
	struct select *s = calloc(1, sizeof(*s));

	(void)configuration;
	(void)data;
	if (!s || !names || !bt_value_is_string(names)) {
		free(s);
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	s->names = strdup(bt_value_string_get(names));
	bt_self_component_set_data(bt_self_component_sink_as_self_component(self), s);
	return bt_self_component_sink_add_input_port(self, "in", NULL, NULL) ==
			       BT_SELF_COMPONENT_ADD_PORT_STATUS_OK
		       ? BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK
		       : BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
}

static bt_component_class_sink_graph_is_configured_method_status
configured(bt_self_component_sink *self)
{
	struct select *s = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
	bt_self_component_port_input *port =
		bt_self_component_sink_borrow_input_port_by_index(self, 0);

	if (bt_message_iterator_create_from_sink_component(self, port, &s->messages) !=
	    BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK)
		return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
	return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

static void finalize(bt_self_component_sink *self)
{
	struct select *s = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));

	bt_message_iterator_put_ref(s->messages);
	free(s->names);
	free(s);
}

BT_PLUGIN_MODULE();
BT_PLUGIN(select);
BT_PLUGIN_SINK_COMPONENT_CLASS(fields, consume);
BT_PLUGIN_SINK_COMPONENT_CLASS_INITIALIZE_METHOD(fields, initialize);
BT_PLUGIN_SINK_COMPONENT_CLASS_FINALIZE_METHOD(fields, finalize);
BT_PLUGIN_SINK_COMPONENT_CLASS_GRAPH_IS_CONFIGURED_METHOD(fields, configured);
