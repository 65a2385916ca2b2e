// Writes one store by jzarr, as its documentation begins: java -cp JARS WriteJzarr.java FOLDER. (Blosc and big-endian numbers are
// what it writes unless it is told otherwise.)
import com.bc.zarr.ArrayParams;
import com.bc.zarr.CompressorFactory;
import com.bc.zarr.DataType;
import com.bc.zarr.ZarrArray;
import com.bc.zarr.ZarrGroup;
import java.util.Map;

public class WriteJzarr {
  public static void main(String[] arguments) throws Exception {
    ZarrGroup root = ZarrGroup.create(arguments[0]);
    int[] shape = {20, 30};
    int[] values = new int[600];
    for (int i = 0; i < values.length; ++i) values[i] = i;
    ArrayParams params = new ArrayParams().shape(shape).chunks(8, 12).dataType(DataType.i4).fillValue(-9999);
    root.createArray("pressure", params, Map.of("units", "m")).write(values, shape, new int[] {0, 0});
    ZarrGroup group = root.createSubGroup("group");
    ArrayParams raw = new ArrayParams().shape(shape).chunks(10, 10).dataType(DataType.f8).compressor(CompressorFactory.create("null"));
    double[] doubles = new double[600];
    for (int i = 0; i < doubles.length; ++i) doubles[i] = Math.sqrt(i);
    group.createArray("raw", raw).write(doubles, shape, new int[] {0, 0});
    ArrayParams zlib = new ArrayParams().shape(shape).chunks(10, 10).dataType(DataType.f8).compressor(CompressorFactory.create("zlib", "level", 1));
    group.createArray("zlib", zlib).write(doubles, shape, new int[] {0, 0});
  }
}
