"""The vocabulary of the sample log: the topics of its searchers.

Data only. A topic has aspects (what people ask about each of its things), the word that joins two
things in a comparison, two web sites that its searchers visit in between, and families of
alternatives. A family has a general query for all of it, and members, each with a common
misspelling. Aspects and members are sorted by popularity. Searchers go through aspects in this
order and through members in a ring, so the order is part of the process.

Every topic has the same shape (two families of four, six aspects, two sites). So a small model can
learn the behaviour once for all topics, and the best possible scores are computed only once.
"""

from typing import NamedTuple, Tuple


class Member(NamedTuple):
    """One thing that people search for."""

    name: str
    misspelt: str


class Family(NamedTuple):
    """Things that are alternatives to each other, and the query that covers all of them."""

    head: str
    members: Tuple[Member, ...]


class Topic(NamedTuple):
    """What the families of one topic share."""

    link: str
    sites: Tuple[str, ...]
    aspects: Tuple[str, ...]
    families: Tuple[Family, ...]


def _family(head: str, members: str) -> Family:
    """Parse `name/misspelt, name/misspelt, …`, sorted by popularity."""
    return Family(head, tuple(Member(*pair.strip().split("/")) for pair in members.split(",")))


def _topic(link: str, sites: str, aspects: str, *families: Family) -> Topic:
    return Topic(link, tuple(sites.split(", ")), tuple(aspects.split(", ")), families)


TOPICS: Tuple[Topic, ...] = (
    _topic(
        "to",
        "mapquest, weather channel",
        "hotels, flights, map, restaurants, museums, tourist attractions",
        _family("european cities", "london/londen, paris/pariss, rome/romme, barcelona/barcelonna"),
        _family("american cities", "chicago/chicgo, boston/bostin, seattle/seatle, denver/denvr"),
    ),
    _topic(
        "vs",
        "ebay, craigslist",
        "reviews, price, gas mileage, for sale, problems, accessories",
        _family(
            "small cars",
            "honda civic/hunda civic, toyota corolla/toyota corola, ford focus/ford focas, "
            "nissan sentra/nisan sentra",
        ),
        _family(
            "pickup trucks",
            "chevy silverado/chevy silvarado, dodge ram/doge ram, toyota tundra/toyota tundera, "
            "ford ranger/ford rangr",
        ),
    ),
    _topic(
        "or",
        "google, yahoo mail",
        "recipe, calories, ingredients, side dishes, cooking time, for two",
        _family(
            "dinner ideas",
            "meatloaf/meatlof, lasagna/lasanga, chicken soup/chiken soup, pot roast/pot rost",
        ),
        _family(
            "dessert ideas",
            "cheesecake/cheescake, banana bread/bananna bread, apple pie/aple pie, "
            "brownies/browneys",
        ),
    ),
    _topic(
        "and",
        "google, amazon",
        "symptoms, treatment, causes, medication, diet, in children",
        _family(
            "common illnesses",
            "diabetes/diabetis, asthma/athsma, arthritis/arthritus, migraine/migrane",
        ),
        _family(
            "skin problems", "eczema/exzema, psoriasis/psoriosis, shingles/shingels, acne/acnee"
        ),
    ),
    _topic(
        "vs",
        "ebay, amazon",
        "ringtones, charger, price, unlock code, manual, cases",
        _family(
            "flip phones",
            "motorola razr/motorola rasor, lg chocolate/lg choclate, nokia 6101/nokea 6101, "
            "samsung slide/samsong slide",
        ),
        _family(
            "smart phones",
            "blackberry pearl/blackbery pearl, palm treo/palm trio, sidekick/sidekik, "
            "htc wizard/htc wizzard",
        ),
    ),
    _topic(
        "and",
        "myspace, yahoo mail",
        "trailer, cast, showtimes, soundtrack, movie review, quotes",
        _family(
            "summer movies",
            "poseidon/posiedon, superman returns/supermen returns, ice age/ice aje, "
            "mission impossible/mision impossible",
        ),
        _family(
            "classic movies",
            "star wars/starwars, the godfather/the godfater, casablanca/casablanka, "
            "citizen kane/citizan kane",
        ),
    ),
    _topic(
        "and",
        "google, weather channel",
        "care, seeds, when to plant, fertilizer, pruning, pests",
        _family(
            "garden flowers",
            "roses/rosses, hydrangeas/hydrangas, tulips/tullips, lavender/lavander",
        ),
        _family(
            "garden vegetables",
            "tomatoes/tomatos, peppers/pepers, cucumbers/cucumbrs, zucchini/zuchini",
        ),
    ),
    _topic(
        "vs",
        "mapquest, myspace",
        "tuition, admissions, football, campus map, bookstore, ranking",
        _family(
            "state universities",
            "ohio state/ohoi state, penn state/pen state, michigan state/michagan state, "
            "florida state/flordia state",
        ),
        _family(
            "private universities",
            "harvard/harverd, stanford/standford, yale/yaile, princeton/princton",
        ),
    ),
    _topic(
        "vs",
        "ebay, yahoo mail",
        "schedule, tickets, scores, roster, jersey, trade rumors",
        _family("baseball teams", "yankees/yankies, red sox/red socks, cubs/cubbs, dodgers/dogers"),
        _family(
            "basketball teams",
            "lakers/lackers, miami heat/maimi heat, celtics/celtix, phoenix suns/pheonix suns",
        ),
    ),
    _topic(
        "and",
        "myspace, amazon",
        "lyrics, tour dates, pictures, videos, albums, guitar tabs",
        _family(
            "pop singers",
            "britney spears/brittany spears, madonna/madona, shakira/shakera, beyonce/beyonse",
        ),
        _family(
            "rock bands",
            "green day/greenday, coldplay/coldpaly, nirvana/nirvanna, metallica/metalica",
        ),
    ),
    _topic(
        "or",
        "craigslist, yahoo mail",
        "salary, jobs, training, certification, resume, job description",
        _family(
            "medical careers",
            "registered nurse/registerd nurse, pharmacist/pharmasist, "
            "dental hygienist/dental hygenist, paramedic/parmedic",
        ),
        _family(
            "office careers",
            "accountant/accountent, paralegal/parallegal, secretary/secratary, "
            "receptionist/recepsionist",
        ),
    ),
    _topic(
        "vs",
        "craigslist, google",
        "breeders, pictures, temperament, rescue, grooming, names",
        _family(
            "dog breeds",
            "golden retriever/golden retreiver, german shepherd/german shepard, beagle/beegle, "
            "poodle/poodel",
        ),
        _family(
            "cat breeds",
            "siamese cat/siameese cat, persian cat/persion cat, maine coon/maine koon, "
            "ragdoll cat/ragdol cat",
        ),
    ),
    _topic(
        "or",
        "myspace, ebay",
        "cheats, walkthrough, release date, screenshots, strategy guide, download",
        _family(
            "computer games",
            "the sims/the simms, runescape/runescap, warcraft/warcaft, tetris/tetriss",
        ),
        _family(
            "console games",
            "final fantasy/final fantacy, kingdom hearts/kingdom harts, zelda/zeldia, "
            "guitar hero/gitar hero",
        ),
    ),
    _topic(
        "or",
        "craigslist, mapquest",
        "installation, cost, cleaning, repair, colors, wholesale",
        _family(
            "flooring types",
            "hardwood floors/hardwood flors, laminate flooring/lamanate flooring, "
            "ceramic tile/ceramic tyle, carpet/carpit",
        ),
        _family(
            "kitchen remodeling",
            "granite countertops/granit countertops, kitchen cabinets/kitchen cabnets, "
            "backsplash/backsplach, stainless sinks/stainles sinks",
        ),
    ),
    _topic(
        "and",
        "yahoo mail, myspace",
        "episodes, cast, spoilers, season finale, theme song, message board",
        _family(
            "drama shows",
            "greys anatomy/grays anatomy, prison break/prisen break, "
            "desperate housewives/desparate housewives, lost/losst",
        ),
        _family(
            "reality shows",
            "american idol/american idle, survivor/surviver, big brother/big bother, "
            "fear factor/fear facter",
        ),
    ),
    _topic(
        "or",
        "google, craigslist",
        "rates, calculator, requirements, application, companies, tax deduction",
        _family(
            "home loans",
            "mortgage refinance/mortgage refinence, home equity/home equitty, fha loan/fha lone, "
            "reverse mortgage/reverse morgage",
        ),
        _family(
            "insurance types",
            "car insurance/car insurence, life insurance/life insurrance, "
            "renters insurance/rentors insurance, dental insurance/dentle insurance",
        ),
    ),
    _topic(
        "or",
        "ebay, mapquest",
        "outlet, coupons, store locator, clearance, catalog, gift card",
        _family("shoe brands", "nike/nikey, adidas/addidas, puma/pooma, reebok/rebok"),
        _family(
            "handbag brands", "coach/coatch, gucci/guchi, louis vuitton/louis vitton, prada/prauda"
        ),
    ),
    _topic(
        "and",
        "amazon, weather channel",
        "patterns, supplies, for beginners, classes, books, kits",
        _family(
            "needle crafts",
            "knitting/kniting, quilting/quiltting, crochet/croche, embroidery/embroidary",
        ),
        _family(
            "paper crafts",
            "scrapbooking/scrapboking, origami/oragami, calligraphy/caligraphy, "
            "card making/card makeing",
        ),
    ),
    _topic(
        "or",
        "amazon, google",
        "results, benefits, tips, success stories, side effects, dvd",
        _family(
            "exercise programs",
            "yoga/yogga, pilates/pilatees, kickboxing/kickboxin, weight lifting/wieght lifting",
        ),
        _family(
            "diet plans",
            "atkins diet/adkins diet, south beach/south beech, weight watchers/weight wachers, "
            "slim fast/slimfast",
        ),
    ),
    _topic(
        "or",
        "weather channel, mapquest",
        "lodging, packages, things to do, map, webcam, tours",
        _family(
            "national parks",
            "yellowstone/yellowston, grand canyon/grand cannon, yosemite/yosemity, "
            "zion park/zyon park",
        ),
        _family(
            "beach vacations",
            "cancun/cancoon, myrtle beach/mertle beach, jamaica/jamacia, bahamas/bahammas",
        ),
    ),
)
