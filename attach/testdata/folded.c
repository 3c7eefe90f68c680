// Texts that differ in what nobody asks for. Each line of the input is a number of
// statements to make and types to throw, and is answered.
#include <stdio.h>
#include <sys/sdt.h>

static struct type {
	void *table;
	const char *name;
} types[] = {{0, "St13runtime_error"}, {0, "*N12_GLOBAL__N_14LoudE"}};

int main(void)
{
	int count;
	while (scanf("%d", &count) == 1) {
		for (int i = 0; i < count; i++) {
			char query[128];
			struct type *volatile type = &types[i % 2];
			if (i % 2)
				snprintf(query, sizeof query, "update t set n = n + %d where id in (%d, %d)", -i, i, i + 1);
			else
				snprintf(query, sizeof query, "select * from t where id = %d and name = 'it''s %d'", i, i);
			DTRACE_PROBE2(folded, statement, query, i);
			DTRACE_PROBE2(folded, thrown, type, type);
		}
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
