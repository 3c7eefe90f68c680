// Calls a function three times, from main.
__attribute__((noipa)) int deepest(int i) { return i; }

int main(void) {
	int sum = 0;
	for (int i = 0; i < 3; i++)
		sum += deepest(i);
	return sum != 3;
}
