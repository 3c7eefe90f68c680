// Throws an exception for each line that it reads.
#include <iostream>
#include <string>

int main()
{
	std::cout << "ready" << std::endl;
	for (std::string line; std::getline(std::cin, line);) {
		try {
			throw line;
		} catch (const std::string &) {
		}
	}
}
