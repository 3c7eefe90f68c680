import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

// Does what each line of the input says and answers with what it has counted.
public class Work implements Runnable {
	static int[] sink;

	static int step(int n) {
		return n + 1;
	}

	public void run() {
		sink = new int[1000];
	}

	static void threads(int n) throws InterruptedException {
		for (int i = 0; i < n; i++) {
			Thread t = new Thread(new Work(), "w\u00f6rker-" + i);
			t.start();
			t.join();
		}
	}

	static long collections() {
		long n = 0;
		for (GarbageCollectorMXBean b : ManagementFactory.getGarbageCollectorMXBeans())
			n += b.getCollectionCount();
		return n;
	}

	static int call(int n) {
		int sum = 0;
		for (int i = 0; i < n; i++)
			sum = step(sum);
		return sum;
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
		PrintStream out = new PrintStream(System.out, true, "UTF-8");
		ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
		threads(2);
		collections();
		classes.getTotalLoadedClassCount();
		out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			String[] word = line.split(" ");
			int n = Integer.parseInt(word[1]);
			switch (word[0]) {
			case "threads":
				threads(n);
				break;
			case "gc":
				for (int i = 0; i < n; i++)
					System.gc();
				break;
			case "call":
				call(n);
				break;
			case "load":
				Class.forName("java.util.concurrent.ConcurrentSkipListMap");
				Class.forName("java.util.zip.GZIPOutputStream");
				break;
			}
			out.println(collections() + " " + classes.getTotalLoadedClassCount());
		}
	}
}
