"""Names of Keras' own classes that a model file may mention without being able to run foreign code.

A configuration that names anything else is refused before it is loaded (decision 17). The lists follow
the installed Keras; a test compares them, so that a class added upstream is looked at before it is
trusted. Whoever walks a configuration asks ``is_known`` of every class in it, nested ones included.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Layers that run code, load files or import modules named in their configuration: never trusted.
UNSAFE_LAYERS = _names("FlaxLayer JaxLayer Lambda TFSMLayer TorchModuleWrapper")

#: Operations that take a function as an argument: never trusted.
UNSAFE_OPERATIONS = _names("AssociativeScan Cond ForiLoop Map Scan Switch VectorizedMap WhileLoop")

#: Layers, wrappers and cells.
LAYERS = _names(
    """
    Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D
    AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add AdditiveAttention AlphaDropout Attention
    AugMix AutoContrast Average AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D
    BatchNormalization Bidirectional CategoryEncoding CenterCrop Concatenate
    ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D
    Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Convolution1D Convolution1DTranspose Convolution2D
    Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D CutMix Dense
    DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding Equalization Flatten GRU
    GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D
    GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D
    GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization GroupQueryAttention
    GroupedQueryAttention HashedCrossing Hashing Identity InputLayer IntegerLookup LSTM LSTMCell Layer
    LayerNormalization LeakyReLU Masking MaxNumBoundingBoxes MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D
    MaxPooling3D Maximum MelSpectrogram Minimum MixUp MultiHeadAttention Multiply Normalization PReLU Permute
    Pipeline RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration RandomColorJitter
    RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale
    RandomHue RandomInvert RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness
    RandomShear RandomTranslation RandomZoom ReLU RepeatVector Rescaling Reshape Resizing ReversibleEmbedding
    STFTSpectrogram SeparableConv1D SeparableConv2D SeparableConvolution1D SeparableConvolution2D SimpleRNN
    SimpleRNNCell Softmax Solarization SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization
    StackedRNNCells StringLookup Subtract TextVectorization TimeDistributed UnitNormalization UpSampling1D
    UpSampling2D UpSampling3D Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D
    """
)

#: Operations of ``keras.ops`` that functional models record as nodes.
OPERATIONS = _names(
    """
    Abs Absolute AdaptiveAveragePool AdaptiveMaxPool Add AffineTransform All AllClose Amax Amin Angle Any Append
    Arange Arccos Arccosh Arcsin Arcsinh Arctan Arctan2 Arctanh Argmax Argmin Argpartition Argsort Array ArraySplit
    Average AveragePool BatchNorm BinaryCrossentropy Bincount BitwiseAnd BitwiseInvert BitwiseLeftShift BitwiseNot
    BitwiseOr BitwiseRightShift BitwiseXor BroadcastTo CDist CTCDecode CTCLoss Cast CategoricalCrossentropy Cbrt
    Ceil Celu Cholesky CholeskyInverse Clip Concatenate Conj Conjugate Conv ConvTranspose ConvertToTensor Copy
    Corrcoef Correlate Cos Cosh CountNonzero CropImages Cross Cumprod Cumsum Deg2rad DepthToSpace DepthwiseConv Det
    Diag Diagflat Diagonal Diff Digitize Divide DivideNoNan Dot DotProductAttention Dsplit Dstack Eig Eigh Einsum
    ElasticTransform Elu EmptyLike Equal Erf Erfc Erfinv Exp Exp2 ExpandDims Expm1 ExtractPatches ExtractSequences
    FFT FFT2 Fabs Flip Fliplr Flipud Floor FloorDivide Fmax Fmin Fmod Fold Full FullLike Function GaussianBlur Gcd
    Gelu Geomspace GetItem Glu Greater GreaterEqual HSVToRGB HardShrink HardSigmoid HardSilu HardTanh Heaviside
    Histogram Hsplit Hstack Hypot I0 IFFT2 IRFFT ISTFT Imag InTopK Inner Inv IsIn Isclose Isfinite Isinf Isnan
    Isneginf Isposinf Isreal JVP Kron LayerNorm Lcm Ldexp LeakyRelu LeftShift Less LessEqual Linspace Log Log10
    Log1p Log2 LogSigmoid LogSoftmax Logaddexp Logaddexp2 Logdet LogicalAnd LogicalNot LogicalOr LogicalXor Logspace
    Logsumexp Lstsq LuFactor MapCoordinates Matmul MatrixRank Max MaxPool Maximum Mean Median Meshgrid Min Minimum
    Mish Mod Moments Moveaxis MultiHot Multiply NanToNum Nanargmax Nanargmin Nancumprod Nancumsum Nanmax Nanmean
    Nanmedian Nanmin Nanpercentile Nanprod Nanquantile Nanstd Nansum Nanvar Ndim Negative Nextafter Nonzero Norm
    Normalize NotEqual OneHot OnesLike Outer PSNR Pad PadImages Percentile PerspectiveTransform Pinv Polar Power
    Prod Ptp Qr Quantile RFFT RGBToGrayscale RGBToHSV RMSNorm Rad2deg Ravel ReLU Real Rearrange Reciprocal Relu
    Relu6 Repeat Reshape Resize RightShift Roll Rot90 Round Rsqrt SSIM STFT SVD SaturateCast ScaleAndTranslate
    Scatter ScatterUpdate SearchSorted SegmentMax SegmentMin SegmentProd SegmentReduction SegmentSum Select Selu
    SeparableConv Sigmoid Sign Signbit Silu Sin Sinc Sinh Size Slice SliceUpdate Slogdet SobelEdges SoftShrink
    Softmax Softplus Softsign Solve SolveTriangular Sort SpaceToDepth SparseCategoricalCrossentropy SparsePlus
    SparseSigmoid Sparsemax Split Sqrt Square Squareplus Squeeze Stack Std StopGradient Subtract Sum Swapaxes Take
    TakeAlongAxis Tan Tanh TanhShrink Tensordot Threshold Tile TopK Trace Transpose Trapezoid Tril Triu TrueDivide
    Trunc Unfold Unique UnravelIndex Unstack Vander Var Vdot View ViewAsComplex ViewAsReal Vsplit Vstack Where
    ZerosLike
    """
)

INITIALIZERS = _names(
    """
    Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer Initializer LecunNormal
    LecunUniform Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform STFT STFTInitializer
    TruncatedNormal VarianceScaling Zeros
    """
)

REGULARIZERS = _names(
    """
    L1 L1L2 L2 OrthogonalRegularizer Regularizer
    """
)

CONSTRAINTS = _names(
    """
    Constraint MaxNorm MinMaxNorm NonNeg UnitNorm
    """
)

LOSSES = _names(
    """
    BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy CategoricalFocalCrossentropy
    CategoricalGeneralizedCrossEntropy CategoricalHinge Circle CosineSimilarity Dice Hinge Huber KLDivergence
    LogCosh Loss MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson
    SparseCategoricalCrossentropy SquaredHinge Tversky
    """
)

METRICS = _names(
    """
    AUC Accuracy BinaryAccuracy BinaryCrossentropy BinaryIoU CategoricalAccuracy CategoricalCrossentropy
    CategoricalHinge ConcordanceCorrelation CosineSimilarity F1Score FBetaScore FalseNegatives FalsePositives Hinge
    IoU KLDivergence LogCoshError Mean MeanAbsoluteError MeanAbsolutePercentageError MeanIoU MeanMetricWrapper
    MeanSquaredError MeanSquaredLogarithmicError Metric OneHotIoU OneHotMeanIoU PearsonCorrelation Poisson Precision
    PrecisionAtRecall R2Score Recall RecallAtPrecision RootMeanSquaredError SensitivityAtSpecificity
    SparseCategoricalAccuracy SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SpecificityAtSensitivity
    SquaredHinge Sum TopKCategoricalAccuracy TrueNegatives TruePositives
    """
)

OPTIMIZERS = _names(
    """
    Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer MultiOptimizer Muon Nadam
    Optimizer OptimizerMap RMSprop SGD ScheduleFreeAdamW
    """
)

SCHEDULES = _names(
    """
    CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay LearningRateSchedule PiecewiseConstantDecay
    PolynomialDecay
    """
)

DTYPE_POLICIES = _names(
    """
    AWQDTypePolicy DTypePolicy DTypePolicyMap FloatDTypePolicy GPTQDTypePolicy Int4DTypePolicy QuantizedDTypePolicy
    QuantizedFloat8DTypePolicy
    """
)

QUANTIZERS = _names(
    """
    AWQConfig AbsMaxQuantizer Float8QuantizationConfig GPTQConfig Int4QuantizationConfig Int8QuantizationConfig
    QuantizationConfig Quantizer
    """
)

MODELS = _names("Functional Model Sequential")

OTHERS = _names("InputSpec SeedGenerator")

#: Classes of earlier Keras versions that their files still name.
LEGACY = _names("Policy RandomHeight RandomWidth ThresholdedReLU")

CLASSES = (
    LAYERS
    | OPERATIONS
    | INITIALIZERS
    | REGULARIZERS
    | CONSTRAINTS
    | LOSSES
    | METRICS
    | OPTIMIZERS
    | SCHEDULES
    | DTYPE_POLICIES
    | QUANTIZERS
    | MODELS
    | OTHERS
    | LEGACY
)

#: What stands for plain values. ``__lambda__`` holds marshalled code and ``__typespec__`` names a class of
#: TensorFlow, so neither is here.
MARKERS = _names("__bytes__ __ellipsis__ __keras_tensor__ __numpy__ __slice__ __tensor__ __tuple__ slice tuple")

#: Keras' own functions that a configuration may name: activations, losses and metrics. ``keras.utils`` and
#: others hold functions that touch files and the network, and ``builtins`` once meant Python's own.
FUNCTIONS = _names(
    """
    binary_accuracy binary_crossentropy binary_focal_crossentropy categorical_accuracy categorical_crossentropy
    categorical_focal_crossentropy categorical_generalized_cross_entropy categorical_hinge celu circle
    concordance_correlation cosine_similarity ctc dice elu exponential gelu glu hard_shrink hard_sigmoid hard_silu
    hard_swish hard_tanh hinge huber kl_divergence leaky_relu linear log_cosh log_sigmoid log_softmax
    mean_absolute_error mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error mish
    pearson_correlation poisson relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign
    sparse_categorical_accuracy sparse_categorical_crossentropy sparse_plus sparse_sigmoid
    sparse_top_k_categorical_accuracy sparsemax squared_hinge squareplus swish tanh tanh_shrink threshold
    top_k_categorical_accuracy tversky
    """
)


def is_known(module: str | None, class_name: str, registered_name: str | None, function: str | None = None) -> bool:
    """Whether an object of a configuration is one of Keras' own that cannot run foreign code.

    Args:
        module: as the configuration says; files of Keras 2 say nothing, and their names are looked up
            among Keras' own. ``builtins`` is for markers and functions only.
        registered_name: anything but the object's own name points at somebody's registered object.
        function: for a ``class_name`` of "function", the name that stands in its ``config``.
    """
    if module not in (None, "builtins") and module != "keras" and not str(module).startswith("keras."):
        return False
    if class_name == "function":
        return function in FUNCTIONS and registered_name in (None, "function", function)
    if registered_name not in (None, class_name):
        return False
    return class_name in MARKERS or (module != "builtins" and class_name in CLASSES)
