func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}
