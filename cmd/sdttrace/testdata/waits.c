// Waits for a signal. gcc -O1
#include <unistd.h>

int main(void)
{
	return pause();
}
