// Reads arrays by jzarr: java -cp JARS ReadJzarr.java FOLDER, with a path a line on stdin. Of each it prints a line of JSON,
// {"shape", "type", "attributes"} or {"error"}, and writes the elements, little-endian, to FOLDER/0, FOLDER/1 and so on.
import com.bc.zarr.ZarrArray;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.LinkedHashMap;
import java.util.Map;

public class ReadJzarr {
  static byte[] bytesOf(Object elements) {
    int count = Array.getLength(elements);
    ByteBuffer buffer = ByteBuffer.allocate(8 * count).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; ++i) {
      Object element = Array.get(elements, i);
      if (element instanceof Byte) buffer.put((Byte) element);
      else if (element instanceof Short) buffer.putShort((Short) element);
      else if (element instanceof Integer) buffer.putInt((Integer) element);
      else if (element instanceof Long) buffer.putLong((Long) element);
      else if (element instanceof Float) buffer.putInt(Float.floatToRawIntBits((Float) element));
      else buffer.putLong(Double.doubleToRawLongBits((Double) element));
    }
    byte[] bytes = new byte[buffer.position()];
    System.arraycopy(buffer.array(), 0, bytes, 0, bytes.length);
    return bytes;
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    BufferedReader paths = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String path;
    for (int number = 0; (path = paths.readLine()) != null; ++number) {
      Map<String, Object> entry = new LinkedHashMap<>();
      try {
        ZarrArray array = ZarrArray.open(path);
        entry.put("shape", array.getShape());
        entry.put("type", array.getDataType().toString());
        entry.put("attributes", array.getAttributes());
        Files.write(Paths.get(arguments[0], "" + number), bytesOf(array.read()));
      } catch (Throwable error) {
        entry.clear();
        entry.put("error", error.toString());
      }
      out.println(new ObjectMapper().writeValueAsString(entry));
    }
  }
}
