/* A histogram tells percentiles to within a bucket, whatever was recorded, and describes itself so
 * that it can be merged. */
#include <stdlib.h>

#include "core/histogram.h"
#include "tests/check.h"

static struct histogram h;

static uint64_t random_number(void)
{
	static uint64_t state = 88172645463325252u; /* xorshift64, G. Marsaglia */

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void buckets_leave_no_gap(void)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t low = histogram_floor(i), next = histogram_floor(i + 1);
		CHECK(low < next);
		CHECK(histogram_index(low) == i && histogram_index(next - 1) == i);
		CHECK(next - low == 1 || next - low <= low >> HISTOGRAM_BITS);
	}
	CHECK(histogram_floor(HISTOGRAM_BUCKETS) == (uint64_t)1 << HISTOGRAM_OCTAVES);
	CHECK(histogram_index(UINT64_MAX) == HISTOGRAM_BUCKETS - 1);
}

/* Against the samples themselves, sorted; `spread` octaves wide. */
static void percentiles_are_those_of_the_samples(int spread)
{
	enum { SAMPLES = 20000 };
	static uint64_t samples[SAMPLES];
	static const double percents[] = {1, 10, 50, 90, 99, 99.9, 99.99};

	histogram_clear(&h);
	for (int i = 0; i < SAMPLES; i++) {
		samples[i] = random_number() >> (64 - 8 - random_number() % (unsigned)spread);
		histogram_record(&h, samples[i]);
	}
	qsort(samples, SAMPLES, sizeof(*samples), ascending);
	CHECK(h.count == SAMPLES && h.min == samples[0] && h.max == samples[SAMPLES - 1]);
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
		/* nearest rank, and its neighbour: in between lies what is interpolated */
		size_t rank = (size_t)(percents[i] / 100 * SAMPLES);
		double low = (double)samples[rank - 1], high = (double)samples[rank];
		double is = histogram_percentile(&h, percents[i]);
		CHECK(is >= low * 63 / 64 - 1 && is <= high * 65 / 64 + 1);
	}
	CHECK(histogram_percentile(&h, 0) == (double)h.min);
	CHECK(histogram_percentile(&h, 100) == (double)h.max);
}

static void few_samples(void)
{
	histogram_clear(&h);
	CHECK(histogram_percentile(&h, 50) == 0);
	histogram_record(&h, 123456);
	for (int percent = 0; percent <= 100; percent += 50)
		CHECK(histogram_percentile(&h, percent) == 123456);
	for (int i = 0; i < 9; i++)
		histogram_record(&h, 1000);
	CHECK(histogram_percentile(&h, 90) <= 1016 && histogram_percentile(&h, 91) > 120000);
}

static void what_is_longer_than_the_last_bucket(void)
{
	histogram_clear(&h);
	histogram_record(&h, (uint64_t)1 << 50);
	histogram_record(&h, UINT64_MAX);
	CHECK(h.buckets[HISTOGRAM_BUCKETS - 1] == 2 && h.max == UINT64_MAX);
	CHECK(histogram_percentile(&h, 50) == (double)((uint64_t)1 << 50));
}

static void described(void)
{
	struct json j = {0};
	int out = capture();

	histogram_clear(&h);
	json_begin(&j, "x");
	histogram_describe(&h, &j, "empty");
	histogram_record(&h, 0);
	histogram_record(&h, 200);
	histogram_record(&h, 201);
	histogram_record(&h, 70000);
	histogram_describe(&h, &j, "some");
	json_true(&j, "after");
	CHECK(json_send(&j) == 0);
	CHECK_TEXT(captured(out),
		   "{\"type\":\"x\",\"empty\":{\"count\":0,\"buckets\":[]},"
		   "\"some\":{\"count\":4,\"min\":0,\"max\":70000,"
		   "\"buckets\":[0,1,164,2,708,1]},\"after\":true}\n");
	free(j.text);
}

int main(void)
{
	buckets_leave_no_gap();
	for (int spread = 1; spread <= 30; spread += is_emulated() ? 7 : 1)
		percentiles_are_those_of_the_samples(spread);
	few_samples();
	what_is_longer_than_the_last_bucket();
	described();
	return 0;
}
