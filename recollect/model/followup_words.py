"""Words and patterns that tell a follow-up from a question of its own, English and Chinese: data for followup*.py.

They say nothing about any particular conversation. Places are there because people write them small; what is not in a
list is known by its capital, by its preposition or not at all.
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _any(text: str) -> str:
    """As alternatives, longest first: the first that fits is taken."""
    return "|".join(sorted((word.replace("_", " ") for word in text.split()), key=len, reverse=True))


# --- what stands alone -----------------------------------------------------------------------------------------------
SMALL_TALK = re.compile(
    r"(?:(?:hi|hello|hey|yo|good (?:morning|afternoon|evening|night)|bye|goodbye|see you|thanks?|thank you|thx|cheers"
    r"|ok|okay|k|sure|yes|yeah|yep|no|nope|right|great|nice|cool|perfect|awesome|good|wow|lol|hm+|oh|i see|got it"
    r"|sounds good|never ?mind|please|so much|very much|a lot|again|there|that'?s (?:great|good|fine|all|it|right)"
    r"|go on|continue|more|and|so|but|why|why not|how so|how come|really|are you sure|what|what else|anything else"
    r"|how are you|what'?s up|for what|since when|who|when|where|how|which|which one)\b[\s,.!?…]*)+"
    r"|(?:你好|您好|嗨|早上好|晚上好|谢谢你?|多谢|好的?|嗯|是的?|不是|对的?|可以|行|没事|再见|拜拜|哈|继续|然后"
    r"|还有|为什么|为啥"
    r"|真的|是吗|怎么说|什么|啊|哦|了|吗|呢|吧|呀|[\s，。！？,.!?…])+",
    re.IGNORECASE,
)
TEACHES = re.compile(
    r"\W*(?:please |pls |and |ok,? |also,? )*(?:(?:remember|note|forget|keep in mind|don'?t forget|make a note"
    r"|bear in mind)\b"
    r"|(?:call|remind) (?:me|us|our|it)\b|always\b|never\b|from now on\b|stop \w+ing\b|don'?t\b|answer (?:in|with"
    r"|me)\b)"
    r"|\W*请?(?:你|帮我)?(?:记住|记得|记一下|记下|以后|从现在起|叫我|忘掉|忘了|别再|不要|请总是|请用|每次)",
    re.IGNORECASE,
)
# What begins like this tells something; it is no question that another could be patterned on.
STATES = re.compile(
    r"\W*(?:(?:i|i'm|i've|i'd|i'll|im|we|we're|we've|my \w+ (?:is|was|has|likes|lives|works)|you|you're|there (?:is"
    r"|are))\b"
    r"|我们?(?![\u4e00-\u9fff]{0,6}(?:什么|怎么|多少|几|哪|谁|吗|呢)))",
    re.IGNORECASE,
)
ASKS = re.compile(
    r"\W*(?:(?:and|but|so|ok|okay|then|also|please|now)\b,?\s+)*(?:what|which|who|whom|whose|when|where|why|how|is"
    r"|are|was|were|do"
    r"|does|did|has|have|had|can|could|will|would|should|any|show|list|tell|give|find|get|count|plot|chart|draw|group"
    r"|sort|order|filter|compare|split|break|explain|describe|summari[sz]e|export|limit|rank|add|remove|exclude)\b",
    re.IGNORECASE,
)

# --- English: what opens a follow-up ---------------------------------------------------------------------------------
LEAD = r"\W*(?:(?:ok|okay|so|now|then|great|cool|thanks|hm+|oh|well|alright|right|sure|yes|no|please|good)\b[,.!]?\s+)*"
OPENER = re.compile(
    rf"{LEAD}(?P<joins>(?:and|but|also|plus|or)\b,?\s+(?:also |then |now )?)?"
    r"(?P<opens>(?:(?:what|how) about|(?:(?:do|show|give me|run|repeat|try|plot) )?(?:the )?same(?: thing| question"
    r"| query"
    r"| chart| report| numbers?)?(?:,? but)?|(?:show|do|run|repeat|give me|plot)(?: me)? (?:that|this|it)(?: again)?"
    r"(?= (?:for|in|by|with|without|but|per)\b)|(?:do|try)(?= (?:last|next|(?:19|20)\d\d)\b)|only|just"
    r"|those(?= (?:from|in|with|for|by|at)\b))\b[\s,:]*)?",
    re.IGNORECASE,
)
NARROWS = _words("only just those")
ENDING = re.compile(
    r"[\s,]*\b(?:(instead)|then|too|as well|also|again|please|only|though|this time|now)\b[\s?.!]*$|[\s?.!…]+$", re.I
)
MODIFIES = re.compile(
    r"(?:(?:sort|order|rank|limit|filter)(?:ed)? (?:by|in|to|on)"
    r"|compared (?:to|with)|versus|vs|in (?:euros?|dollars?|pounds?|usd|eur|gbp|percent|thousands|millions)"
    r"|without(?! (?:a |any )?(?:doubt|question|problem))|excluding|exclude|except(?: for)?|including|include"
    r"|in (?:descending|ascending|reverse"
    r"|alphabetical) order"
    r"|as an? (?:\w+ )?(?:chart|table|list|graph|percentage|pdf|csv))\b",
    re.IGNORECASE,
)
# A fragment has none of these: they make a sentence of its own.
CLAUSE = _words("""
    i i'm i'd i'll i've we you he she it they is are was were be been am do does did has have had can could will would
    should shall may might must what which who whom whose when where why how if because let's don't isn't doesn't
    didn't that there here me us him
""")
COMMANDS = _words("""
    tell show write give list find get make explain describe compare count plot draw translate summarize summarise
    create add remove help open send book set play search look check run use try let go come stop start read say put
    call ask remember forget remind export calculate compute define delete
""")
JOINTS = _words("""
    in for on at of by from to with about during over near since until before after between within under against per
    without except excluding via around as
""")
DIRECTED = _words(
    "from to between before after since until with without except excluding via near by about under against"
)
PREPOSITION = re.compile(rf"\b({'|'.join(sorted(JOINTS))})\s+(?:the |our |all )?$", re.IGNORECASE)
ARTICLES = _words("the a an our my your this that these those all")

# --- English: slots --------------------------------------------------------------------------------------------------
_MONTH = (
    "january|february|march|april|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec"
)
_DAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_SPAN = "year|quarter|month|week|weekend|day|night|hour|summer|winter|spring|autumn|fall|season|decade|century"
_COUNT = r"\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|fifty|hundred"
_RANK = "largest|biggest|smallest|best|worst|highest|lowest|newest|oldest|latest|most recent|cheapest"
_PLACES = _words("""
    germany france spain italy portugal poland austria switzerland belgium netherlands holland denmark sweden norway
    finland iceland ireland england scotland wales britain uk greece turkey russia ukraine romania hungary czechia
    bulgaria croatia serbia usa us united_states america canada mexico brazil argentina chile colombia peru china
    japan korea india pakistan indonesia vietnam thailand malaysia singapore philippines australia new_zealand egypt
    morocco nigeria kenya south_africa israel iran iraq saudi_arabia dubai qatar europe asia africa oceania emea apac
    latam dach nordics north_america south_america london paris berlin munich hamburg cologne frankfurt vienna zurich
    geneva rome milan naples turin venice florence madrid barcelona lisbon porto amsterdam brussels copenhagen
    stockholm oslo helsinki dublin edinburgh manchester leeds liverpool bristol glasgow prague warsaw krakow budapest
    bucharest athens istanbul moscow kyiv new_york nyc boston chicago seattle san_francisco los_angeles san_diego
    austin dallas houston denver miami atlanta philadelphia washington toronto montreal vancouver mexico_city bogota
    lima santiago buenos_aires sao_paulo rio tokyo osaka kyoto seoul beijing shanghai shenzhen guangzhou hangzhou
    hong_kong taipei taiwan bangkok hanoi jakarta manila mumbai delhi bangalore sydney melbourne perth auckland cairo
    lagos nairobi california texas florida ohio oregon bavaria catalonia
""")
_MEASURES = _words("""
    sales revenue revenues profit profits turnover income cost costs expenses spending spend margin margins orders
    returns refunds signups sign-ups visits sessions clicks conversions churn price prices salary salaries budget
    headcount invoices payments quantity volume downloads
""")
_PARTIES = _words("""
    customers clients users employees suppliers vendors partners members subscribers students teachers patients
    managers contractors staff buyers sellers tenants visitors guests companies
""")
# By their small spelling; a place of two words, too.
KNOWN = {
    word.replace("_", " "): kind
    for kind, words in (("place", _PLACES), ("measure", _MEASURES), ("party", _PARTIES))
    for word in words
}
KIN_SHE = _words("sister mother mom mum daughter wife girlfriend aunt grandmother grandma niece mother-in-law")
KIN_HE = _words("brother father dad son husband boyfriend uncle grandfather grandpa nephew father-in-law")
KIN_ANY = _words("""
    contact boss manager partner friend colleague neighbour neighbor doctor dentist teacher landlord lawyer cousin
    roommate ceo cto cfo president director coach mentor therapist assistant client customer chancellor mayor author
    founder king queen
""")
_KIN = "|".join(sorted(KIN_SHE | KIN_HE | KIN_ANY))
PERSON_EN = rf"\b(?:(?i:my|our|your|the)|(?!(?:Wh|How|It|Th|He|She|Let)\w*['’])[A-Z]\w*['’]s) (?:\w+ )?(?i:{_KIN})\b"
NAME = (
    r"\b(?!I\b)(?:[A-Z][\w&]*|[a-z]+[A-Z]\w*)(?:[-.’'](?!s\b)\w+)*"
    r"(?: (?:(?:of|de|van|von|da|la) )?(?!I\b)(?:[A-Z][\w&]*(?:[-.’'](?!s\b)\w+)*|\d{1,3}\b))*"
)
_BY = r"(?:(?:broken down|break down|group|grouped|split) )?(?:by|per|for each)"
ENGLISH_SLOTS = re.compile(
    rf"(?P<when>(?i:\b(?:(?:the )?(?:last|this|next|past|previous|current|coming) (?:(?:{_COUNT}|few|couple of) )?"
    rf"(?:{_SPAN}|{_DAY}|{_MONTH})s?|yesterday|today|tomorrow|tonight|year to date|ytd"
    rf"|(?:{_COUNT}) (?:{_SPAN})s? ago)\b))"
    rf"|(?P<year>\b(?:19|20)\d\d\b)|(?P<quarter>\b(?i:q[1-4]|h[12]|(?:first|second|third|fourth|last) quarter)\b)"
    rf"|(?P<month>\b(?:(?i:{_MONTH})|May|(?<=in )may)\b)|(?P<day>\b(?i:{_DAY})\b)"
    rf"|(?P<top>\b(?i:(?:top|bottom|first|last|best|worst) (?:{_COUNT})|(?:{_COUNT}) (?:{_RANK}))\b)"
    r"|(?P<amount>\b(?i:above|over|under|below|more than|less than|fewer than|at least"
    r"|at most) [$€£]?\d[\d.,]*[kKmM%]?)"
    rf"|(?P<degree>\b(?i:{_RANK}|most expensive|youngest|fastest|slowest|longest|shortest)\b)"
    rf"|(?P<grain>\b(?i:{_BY}) (?i:hour|day|week|month|quarter|year)\b"
    r"|\b(?i:hourly|daily|weekly|monthly|quarterly|yearly|annual|annually)\b)"
    rf"|(?P<by>\b(?i:{_BY}) (?:the )?[a-z]\w+(?: (?!in\b|for\b|on\b|at\b|of\b|from\b|to\b|with\b|and\b|this\b|last\b"
    rf"|by\b"
    r"|next\b|is\b|was\b|were\b|are\b)[a-z]\w+(?=$|[?,.]| (?:in|for|on|at|of|from|to|with|this|last|by|next)\b))?)"
    rf"|(?P<person>{PERSON_EN})|(?P<name>{NAME})"
)
NOT_NAMES = _words("""
    ceo cto cfo hr kpi kpis sql pdf csv api vat id ids faq url html json ok dr mr mrs ms i'm also please hi hey hello
    thanks only just same sales revenue orders hotels flights total average number
""")
GRAIN_ADJECTIVE = {
    "hour": "hourly",
    "day": "daily",
    "week": "weekly",
    "month": "monthly",
    "quarter": "quarterly",
    "year": "yearly",
}

# --- English: pronouns -----------------------------------------------------------------------------------------------
PRONOUN = re.compile(
    r"\b(?:(?P<she>she|her|hers)|(?P<he>he|him|his)|(?P<they>they|them|their|theirs|those|these|ones)|(?P<it>it|its))\b"
    r"(?!['’]s\b)|\b(?P<that>this|that)(?=\s*(?:[?.!]|$)|\s+(?:by|for|per|as|in|into|over|with|mean|include|work"
    r"|cost)\b)",
    re.IGNORECASE,
)
ASKS_WHO = re.compile(r"\W*who(?:se)?\b(?! (?:is|was|are|were)\b|['’]s\b)", re.IGNORECASE)
PRONOUN_ONLY = re.compile(
    r"(?:for |with )?(?:(?P<she>her|hers|她)|(?P<he>him|his|他)|(?P<other>them|it|this|that|its|它|他们|这个|那个))",
    re.I,
)
OWNERS = _words("her his their its")
# "it" that stands for nothing: the weather, the time, "is it possible to".
EMPTY_IT = re.compile(
    r"\bit(?:'s| is| was)? (?:going to )?(?:rain|snow|raining|snowing|cold|hot|warm|sunny|windy|late|dark|worth|true"
    r"|possible|ok"
    r"|okay|normal|safe|legal|better|best|time|like to)\b|\b(?:time|day|date|year) is it\b|\bis it\b.*\b(?:to|that"
    r"|if)\b"
    r"|\bit\b.{0,20}\b(?:take|feel|cost|mean|matter|make sense|like|help) (?:to|if|when|for \w+ to)\b"
    r"|\b(?:make|made|making) it\b|\bhow(?:'s| is) it going\b|\bit (?:seems|looks like)\b",
    re.IGNORECASE,
)
# Words that may stand before a pronoun and still give it nothing to stand for.
HOLLOW = _words("""
    colour color size old tall big long far much many often big heavy expensive kind sort well soon good else exactly
    still really please want say said tell told think know show list sort group plot filter compare explain describe
    break split rank count order give find get chart draw export summarize summarise add remove mean do done make work
    live use any cheaper bigger smaller newer older better other more active then also now number email address name
    phone age all each
""")
COMPARATIVE = re.compile(
    r"\b(?:cheaper|bigger|smaller|larger|faster|slower|better|worse|older|newer|younger|taller|longer|shorter|higher"
    r"|lower"
    r"|heavier|lighter|safer|easier|harder|stronger|closer|nearer|earlier|later|more \w+|less \w+|cheapest|biggest"
    r"|smallest"
    r"|largest|fastest|slowest|best|worst|oldest|newest|youngest|tallest|longest|shortest|highest|lowest|closest"
    r"|nearest)\b",
    re.IGNORECASE,
)
COUNTS = re.compile(r"\W*(?:(?:and|so|ok|but)\b,?\s+)?how many(?: are there| in total| is that)?\W*", re.IGNORECASE)
COMPARES = re.compile(
    r"\W*(?:(?:and|but|so|ok|then)\b,?\s+)?(?:(?:which|who)(?: one| ones| of (?:them|these|those|the two))?(?: is"
    r"| are| was| were"
    r"|'s| has| had| would be)?|is there|are there|any|anything|something|do you have)\b",
    re.IGNORECASE,
)
LEAD_IN = re.compile(
    r"\W*(?:please|(?:can|could|would|will) you|tell(?: me| you)?|show(?: me)?|list|find|give(?: me)?|get|compare|count"
    r"|search(?: for)?|plot"
    r"|what(?:'s| is| are| was| were| does| do| did)?|which|who(?:'s| is| are| was)?|where(?:'s| is| are| was| were"
    r"| does| do"
    r"| did)?|when(?: is| are| was| were| does| do| did)?|how (?:many|much|old|tall|long|big|far|often)(?: is| are"
    r"| was| were"
    r"| does| do| did)?|how (?:do|can|should|did|does|is|are|was)(?: i| we| you)?|do|does|did|is|are|was|were|has|have"
    r"|about|all|me|i|we|you)\b\s*",
    re.IGNORECASE,
)

# --- Chinese ---------------------------------------------------------------------------------------------------------
NUMERAL = "[0-9一二两三四五六七八九十百]+"
OPENER_ZH = re.compile(
    r"(?P<joins>(?:那么?|还有|以及|然后|再|哦|嗯|好的?|[，,\s])*)(?P<opens>换成|换为|改成|改为|如果是|要是|只看|只要"
    r"|仅看|只显示|只列|同样看|也看看"
    r"|再看看?|看看|排除|不包括|不含|除了)?(?P<rest>.+?)(?P<asks>呢|怎么样呢|如何呢|的话呢?|也看一下"
    r"|也查一下)?[？?。！!\s]*$",
    re.DOTALL,
)
EXCLUDES_ZH = ("排除", "不包括", "不含", "除了")
CLAUSE_ZH = re.compile(
    r"[你您谁吗吧啥]|喜欢|上班|工作|平时|住|出生|叫|我们?(?!的?[爸妈哥姐弟妹爷奶外老儿女丈太男同朋舅叔姨])|什么|怎么"
    r"|多少|几[个号点月年岁]|哪|为何|觉得|认为|知道|应该|可以|能不能|是不是|想|帮|请|话题"
)
PLACES_ZH = _any("""
    北京 上海 天津 重庆 广州 深圳 杭州 南京 苏州 成都 武汉 西安 长沙 郑州 青岛 济南 大连 沈阳 哈尔滨 长春 厦门 福州
    宁波 无锡 合肥 昆明 贵阳 南宁 海口 三亚 太原 石家庄 兰州 银川 西宁 拉萨 乌鲁木齐 呼和浩特 南昌 珠海 东莞 佛山 香港
    澳门 台湾 台北 高雄 广东 浙江 江苏 山东 河南 河北 湖南 湖北 四川 福建 安徽 江西 陕西 山西 云南 贵州 广西 海南 辽宁
    吉林 黑龙江 内蒙古 新疆 西藏 甘肃 青海 宁夏 华东 华南 华北 华中 西南 西北 东北 中国 美国 英国 法国 德国 日本 韩国
    印度 俄罗斯 意大利 西班牙 加拿大 澳大利亚 新加坡 泰国 越南 巴西 墨西哥 欧洲 亚洲 非洲 北美 南美 东南亚 伦敦 巴黎
    柏林 东京 首尔 纽约 旧金山 洛杉矶 悉尼 罗马 马德里 莫斯科 曼谷
""")
MEASURES_ZH = _any("""
    销售额 销售量 销量 利润率 利润 毛利率 毛利 收入 营收 成本 费用 支出 订单数 订单量 退货率 退货量 退款 库存 价格
    单价 工资 薪资 预算 转化率 点击量 访问量 增长率 客单价 活跃度 流失率
""")
PARTIES_ZH = _any("客户 顾客 用户 员工 供应商 经销商 合作伙伴 会员 学生 老师 患者 经理 商家 访客 管理员")
KIN_ZH = _any("""
    爸爸 妈妈 父亲 母亲 哥哥 弟弟 姐姐 妹妹 爷爷 奶奶 外公 外婆 老公 老婆 丈夫 妻子 太太 儿子 女儿 男朋友 女朋友 老板
    同事 朋友 舅舅 叔叔 阿姨 爸 妈
""")
KIN_SHE_ZH, KIN_HE_ZH = (
    re.compile("妈|母|姐|妹|奶|婆|妻|太太|女|姨"),
    re.compile("爸|父|哥|弟|爷|公|丈夫|儿子|男|舅|叔"),
)
_SURNAME = (  # those that are hardly ever the beginning of another word
    "王李张刘陈杨黄赵吴徐孙朱郭罗宋郑谢韩唐冯董曹袁邓沈曾彭吕苏卢蒋蔡贾丁魏"
    "薛叶潘杜戴汪姜范姚谭廖邹熊陆郝孔崔邱秦顾侯邵孟钱汤尹黎贺赖龚"
)
PERSON_ZH = (
    rf"我的?(?:{KIN_ZH})|(?<![\u4e00-\u9fff])(?:儿子|女儿|爸爸|妈妈|哥哥|弟弟|姐姐|妹妹|爷爷|奶奶|老公|老婆|老板)"
    rf"|[{_SURNAME}][\u4e00-\u9fff]{{0,2}}?(?:先生|女士|小姐|老师|教授|医生|经理|主任|总监)"
    rf"|(?:(?<=^)"
    rf"|(?<=[和跟与问给对是，、]))[{_SURNAME}][\u4e00-\u9fff]{{1,2}}?(?=[的是在住多什几怎有喜去会叫和跟与呢吗哪做负来今昨明结出生？?，,。\s]|$)"
)
CHINESE_SLOTS = re.compile(
    rf"(?P<when>今年|去年|前年|明年|后年|上个?月|本月|这个月|下个?月|上个?季度|本季度|上周|本周|这周|下周|昨天|今天"
    rf"|明天|前天|后天|最近{NUMERAL}[个]?[天周月年]|近{NUMERAL}[个]?[天周月年])"
    rf"|(?P<year>(?:19|20)\d\d年?|[一二]\s?[零〇九][零〇一二三四五六七八九]{{2}}年)"
    rf"|(?P<quarter>第?[一二三四1-4]季度|[qQ][1-4]|上半年|下半年)|(?P<month>(?:1[0-2]|[1-9]|十[一二]?"
    rf"|[一二三四五六七八九])月份?)"
    rf"|(?P<day>(?:周|星期)[一二三四五六日天末])|(?P<degree>最[高低多少大小贵好差新早晚长短])"
    rf"|(?P<part>第{NUMERAL}(?:章|节|条|页|部分|步|题|款))"
    rf"|(?P<top>前{NUMERAL}[名个位条大]?)"
    r"|(?P<grain>[按每](?:小时|季度|[年月周日天季])(?:份|度)?)|(?P<by>按(?:产品|地区|区域|部门|城市|省份|类别|客户"
    r"|门店|渠道|品牌|员工|性别|年龄|国家|类型|销售员))"
    rf"|(?P<place>(?:{PLACES_ZH})[省市区州]?|[\u4e00-\u9fff]{{2}}(?:分公司|分店))|(?P<person>{PERSON_ZH})"
    rf"|(?P<measure>{MEASURES_ZH})|(?P<party>{PARTIES_ZH})|(?P<name>[A-Za-z][A-Za-z0-9+.-]*(?: [A-Za-z0-9+.-]+)*)"
)
HOLLOW_ZH = re.compile(r"[的地得在对于把就也是和跟从为了只要看个年度\s，,]+")
PRONOUN_ZH = re.compile(r"(?<!其)(?P<they>[他她它]们)|(?<![其])(?P<he>他)(?!人)|(?P<she>她)|(?<!其)(?P<it>它)")
BEFORE_PRONOUN_ZH = re.compile(
    r"(?:那么?|请问?|帮我|查一?下?|看一?下?|介绍一?下?|告诉我|关于|对|给|和|跟|说说|什么是|把|知道|[，,\s])*"
)
LEAD_IN_ZH = re.compile(
    r"(?:请问?|帮我|查询?一?下?|看一?下?|看看|列出|统计|介绍一?下?|告诉我|说说|什么是|显示|给我|比较一?下?)+"
)
TOPIC_ZH = re.compile(
    r"[A-Za-z][A-Za-z0-9+. -]*[A-Za-z0-9]|[\u4e00-\u9fff]{2,8}?(?=是|有|在|多少|怎么|什么|哪|几|能|可以|会|需要"
    r"|支持|吗|呢|贵|[？?]|$)"
)

# --- what only marks a follow-up: a rewrite need not keep it (stems) -------------------------------------------------
OPENING_WORDS = _words(
    "instead ok okay now then too well again also pleas thank one year great so same do tri repeat show"
)
OPENING_ZH = re.compile(
    r"换成|换为|改成|改为|如果是|要是|只看|只要|仅看|只显示|只列|同样|看看|再看|一下|的话|那么"
    r"|还有|以及|然后|[他她它]们?|怎么样|如何|好的"
)
